// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <array>
#include <cmath>
#include <limits>
#include <span>
#include <vector>

#include "check_tools.hpp"
#include "program_oracle.hpp"
#include "row_inputs.hpp"
#include "yolk/internal/oracle/families.hpp"
#include "yolk/internal/oracle/operation_problem.hpp"
#include "yolk/internal/primitives/row_steps.hpp"
#include "yolk/normalize.hpp"

namespace yolk::oracle {
namespace {

class NormalizeProblem final : public OperationProblem<NormalizeDesc> {
   public:
    explicit NormalizeProblem(const NormalizeDesc& desc, RowInputs inputs = RowInputs::Plain, std::uint64_t seed = 1)
        : OperationProblem(desc, fmt::format("{} inputs, epsilon {}", name_of(inputs), desc.epsilon)),
          inputs_(inputs),
          seed_(seed) {}

    [[nodiscard]] Work work() const override {
        const auto count = static_cast<double>(elements(0));
        return {.operations = 8.0 * count, .bytes = 8.0 * count};
    }

   protected:
    [[nodiscard]] std::vector<ByteVector> contents() const override {
        return {bytes_of_values(row_inputs(seed_, elements(0), inputs_)), bytes_of_values(make_vector(1, 0x10000U)),
                bytes_of_values(make_vector(2, 0x10001U))};
    }
    [[nodiscard]] std::vector<OracleValues> oracle(const HostViews& given, const HostViews& /*made*/) const override {
        std::vector<reference::HostView> used{given[0]};
        if (desc().scale != RowVector::None) used.push_back(given[1]);
        if (desc().bias != RowVector::None) used.push_back(given[2]);
        return {program_bounds(row_program_of(desc()), HostViews(used), elements(0))};
    }

   private:
    [[nodiscard]] std::vector<float> make_vector(std::size_t view, std::uint32_t stream) const {
        if ((view == 1 ? desc().scale : desc().bias) == RowVector::None) return {};
        std::vector<float> values = Draws(seed_, stream).uniforms(elements(view), -2.0F, 2.0F);
        if (!values.empty()) values.front() = 0x1p-41F;  // counts as zero
        return values;
    }
    RowInputs inputs_;
    std::uint64_t seed_;
};

struct NormalizeCase {
    std::uint32_t members, rows, columns;
    RowInputs inputs;
    RowVector scale = RowVector::None;
    RowVector bias = RowVector::None;
    float epsilon = 1e-5F;
};

// Nothing, one element, around the 32 chains, primes, more rows than a workgroup has; scales; each kind of vector.
constexpr auto kNormalizeCases = std::to_array<NormalizeCase>({
    {0, 3, 5, RowInputs::Plain},
    {3, 0, 5, RowInputs::Plain, RowVector::Shared, RowVector::PerMember},
    {3, 5, 0, RowInputs::Plain, RowVector::PerMember, RowVector::PerMember},
    {1, 1, 1, RowInputs::Plain},
    {2, 3, 2, RowInputs::Ties, RowVector::Shared, RowVector::Shared},
    {2, 5, 31, RowInputs::Plain, RowVector::PerMember, RowVector::None, 1e-12F},
    {1, 7, 32, RowInputs::Wide, RowVector::Shared, RowVector::PerMember},
    {3, 3, 33, RowInputs::Steep, RowVector::None, RowVector::Shared, 1.0F},
    {1, 5, 65, RowInputs::Huge, RowVector::Shared, RowVector::Shared},
    {2, 2, 1021, RowInputs::Plain, RowVector::PerMember, RowVector::PerMember},
    {1, 2, 4099, RowInputs::Wide},
    {257, 3, 10, RowInputs::Plain, RowVector::PerMember, RowVector::Shared},
    {2, 4, 40, RowInputs::Tiny, RowVector::Shared, RowVector::Shared},
});

Problems normalize_cases(std::uint64_t seed) {
    Problems problems;
    for (const NormalizeCase& c : kNormalizeCases) {
        for (const NormalizeRule rule : {NormalizeRule::Layer, NormalizeRule::RootMeanSquare}) {
            const NormalizeDesc desc{.rule = rule,
                                     .members = c.members,
                                     .rows = c.rows,
                                     .columns = c.columns,
                                     .scale = c.scale,
                                     .bias = rule == NormalizeRule::Layer ? c.bias : RowVector::None,
                                     .epsilon = c.epsilon};
            problems.push_back(std::make_unique<NormalizeProblem>(desc, c.inputs, seed));
        }
    }
    return problems;
}

Problems normalize_benchmarks() {
    Problems problems;
    for (const auto& [members, rows, columns] :
         {std::array{1024U, 16U, 64U}, std::array{64U, 64U, 1024U}, std::array{16U, 16U, 4096U}}) {
        const NormalizeDesc desc{.members = members,
                                 .rows = rows,
                                 .columns = columns,
                                 .scale = RowVector::Shared,
                                 .bias = RowVector::Shared};
        problems.push_back(std::make_unique<NormalizeProblem>(desc, RowInputs::Plain, 1));
    }
    return problems;
}

Problems large_normalizations() {
    Problems problems;
    for (const auto& [rows, columns] : kLargeRows) {
        problems.push_back(make_problem<NormalizeProblem>({.rows = rows, .columns = columns}));
        problems.push_back(make_problem<NormalizeProblem>(
            {.rule = NormalizeRule::RootMeanSquare, .rows = rows, .columns = columns, .scale = RowVector::Shared}));
    }
    return problems;
}

}  // namespace

const Family& normalize_family() noexcept {
    static constexpr Family kFamily{.name = "normalize",
                                    .exactness = "P",
                                    .cases = &normalize_cases,
                                    .benchmarks = &normalize_benchmarks,
                                    .configurations_per_case = 2,
                                    .operation = &kOperationText<NormalizeDesc, &make_problem<NormalizeProblem>>,
                                    .large = &large_normalizations};
    return kFamily;
}

}  // namespace yolk::oracle
