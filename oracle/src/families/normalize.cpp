// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <array>

#include "check_tools.hpp"
#include "normalize_oracle.hpp"
#include "row_inputs.hpp"
#include "yolk/oracle/families.hpp"
#include "yolk/oracle/operation_problem.hpp"
#include "yolk/reference/normalize.hpp"

namespace yolk::oracle {
namespace {

class NormalizeProblem final : public OperationProblem<NormalizeDesc> {
   public:
    NormalizeProblem(const NormalizeDesc& desc, RowInputs inputs, std::uint64_t seed)
        : OperationProblem(desc, fmt::format("{} inputs, epsilon {}", name_of(inputs), desc.epsilon)),
          inputs_(inputs),
          seed_(seed) {}

    [[nodiscard]] std::vector<Expected> expected() const override {
        const reference::NormalizeInputs inputs = make_inputs();
        return {
            {.twin = words_of(reference::normalize_twin(desc(), inputs)), .oracle = normalize_oracle(desc(), inputs)}};
    }
    [[nodiscard]] Work work() const override {
        const auto elements = static_cast<double>(count());
        return {.operations = 8.0 * elements, .bytes = 8.0 * elements};
    }

   protected:
    [[nodiscard]] std::vector<ByteVector> contents() const override {
        const reference::NormalizeInputs inputs = make_inputs();
        return {bytes_of_values(inputs.in), bytes_of_values(inputs.scale), bytes_of_values(inputs.bias)};
    }

   private:
    [[nodiscard]] std::size_t count() const { return std::size_t{desc().members} * desc().rows * desc().columns; }
    [[nodiscard]] std::vector<float> make_vector(RowVector kind, std::uint32_t stream) const {
        if (kind == RowVector::None) return {};
        Draws draws(seed_, stream);
        const std::size_t members = kind == RowVector::PerMember ? desc().members : 1;
        std::vector<float> values = draws.uniforms(members * desc().columns, -2.0F, 2.0F);
        if (!values.empty()) values.front() = 0x1p-41F;  // counts as zero
        return values;
    }
    [[nodiscard]] reference::NormalizeInputs make_inputs() const {
        return {.in = row_inputs(seed_, count(), inputs_),
                .scale = make_vector(desc().scale, 0x10000U),
                .bias = make_vector(desc().bias, 0x10001U)};
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
    {1, 1, 4099, RowInputs::Wide},
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
         {std::array{1024U, 16U, 64U}, std::array{64U, 64U, 256U}, std::array{16U, 16U, 4096U}}) {
        const NormalizeDesc desc{.members = members,
                                 .rows = rows,
                                 .columns = columns,
                                 .scale = RowVector::Shared,
                                 .bias = RowVector::Shared};
        problems.push_back(std::make_unique<NormalizeProblem>(desc, RowInputs::Plain, 1));
    }
    return problems;
}

std::unique_ptr<Problem> make_normalize_problem(const NormalizeDesc& desc) {
    return std::make_unique<NormalizeProblem>(desc, RowInputs::Plain, 1);
}

}  // namespace

const Family& normalize_family() noexcept {
    static constexpr Family kFamily{.name = "normalize",
                                    .exactness = "P",
                                    .cases = &normalize_cases,
                                    .benchmarks = &normalize_benchmarks,
                                    .configurations_per_case = 2,
                                    .operation = &kOperationText<NormalizeDesc, &make_normalize_problem>};
    return kFamily;
}

}  // namespace yolk::oracle
