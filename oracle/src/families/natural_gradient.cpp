// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <array>

#include "check_tools.hpp"
#include "row_inputs.hpp"
#include "yolk/internal/oracle/families.hpp"
#include "yolk/internal/oracle/operation_problem.hpp"
#include "yolk/internal/reference/formulas/natural_gradient.hpp"
#include "yolk/natural_gradient.hpp"

namespace yolk::oracle {
namespace {

class NaturalGradientProblem final : public OperationProblem<NaturalGradientDesc> {
   public:
    explicit NaturalGradientProblem(const NaturalGradientDesc& desc, RowInputs inputs = RowInputs::Plain,
                                    float learning_rate = 0.1F, std::uint64_t seed = 1)
        : OperationProblem(desc, fmt::format("rate {}, {}", learning_rate, name_of(inputs)), learning_rate),
          inputs_(inputs),
          seed_(seed) {}

    [[nodiscard]] std::vector<ByteVector> contents() const override {
        const std::size_t vectors = std::size_t{desc().blocks} * desc().n;
        return {bytes_of_values(row_inputs(seed_, desc().identity ? 0 : vectors * desc().n, inputs_)),
                bytes_of_values(row_inputs(seed_ + 1, vectors, inputs_))};
    }
    [[nodiscard]] std::vector<OracleValues> oracle(const HostViews& given, const HostViews& /*made*/) const override {
        return bounds_of(desc(), given, argument<0>());
    }
    [[nodiscard]] Work work() const override {
        const double vectors = static_cast<double>(desc().blocks) * desc().n;
        const double elements = desc().identity ? 0.0 : vectors * desc().n;
        return {.operations = 2.0 * elements + vectors, .bytes = 4.0 * (elements + 2.0 * vectors)};
    }

   private:
    RowInputs inputs_;
    std::uint64_t seed_;
};

struct NaturalGradientCase {
    std::uint32_t blocks, n;
    RowInputs inputs = RowInputs::Plain;
    float learning_rate = 0.1F;
};

// Nothing, one element, primes, around the 32 chains and a workgroup's rows; scales; rates of zero and one, and one
// that ascends.
constexpr auto kNaturalGradientCases = std::to_array<NaturalGradientCase>({
    {0, 3},
    {3, 0},
    {1, 1, RowInputs::Plain, 1.0F},
    {5, 2},
    {3, 31, RowInputs::Plain, 0.0F},
    {2, 32, RowInputs::Tiny},
    {4, 33, RowInputs::Plain, -0.5F},
    {301, 3},
    {2, 65, RowInputs::Huge, 0x1p-20F},
    {1, 257, RowInputs::Ties},
});

Problems natural_gradient_cases(std::uint64_t seed) {
    Problems problems;
    std::size_t index = 0;
    for (const NaturalGradientCase& c : kNaturalGradientCases) {
        for (std::uint32_t options = 0; options < 4; ++options) {
            const NaturalGradientDesc desc{.n = c.n,
                                           .blocks = c.blocks,
                                           .identity = (options & 1U) != 0,
                                           .project_mean = (options & 2U) != 0,
                                           .has_preconditioned = index++ % 3 != 0};
            problems.push_back(std::make_unique<NaturalGradientProblem>(desc, c.inputs, c.learning_rate, seed));
        }
    }
    return problems;
}

Problems natural_gradient_benchmarks() {
    return problems_of<NaturalGradientProblem>(
        {{.n = 32, .blocks = 1024}, {.n = 256, .blocks = 64}, {.n = 1024, .blocks = 4}});
}

/// A row of the product has n columns; of one large block, or a few, each has more lanes.
Problems large_natural_gradients() {
    Problems problems;
    for (const auto& [blocks, n] :
         {std::array{1024U, 32U}, std::array{1U, 512U}, std::array{1U, 1024U}, std::array{1U, 2048U}}) {
        for (const bool project_mean : {false, true})
            problems.push_back(
                make_problem<NaturalGradientProblem>({.n = n, .blocks = blocks, .project_mean = project_mean}));
    }
    return problems;
}

}  // namespace

const Family& natural_gradient_family() noexcept {
    static constexpr Family kFamily{
        .name = "natural_gradient",
        .exactness = "P",
        .cases = &natural_gradient_cases,
        .benchmarks = &natural_gradient_benchmarks,
        .configurations_per_case = 2,
        .operation = &kOperationText<NaturalGradientDesc, &make_problem<NaturalGradientProblem>>,
        .large = &large_natural_gradients};
    return kFamily;
}

}  // namespace yolk::oracle
