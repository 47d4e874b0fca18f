// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <array>
#include <cmath>

#include "check_tools.hpp"
#include "row_inputs.hpp"
#include "yolk/oracle/check.hpp"
#include "yolk/oracle/family.hpp"
#include "yolk/oracle/reduce.hpp"

namespace yolk::oracle {
namespace {

constexpr std::array kOperationNames{"sum", "mean", "max", "argmax"};

class ReduceProblem final : public Problem {
   public:
    ReduceProblem(const ReduceDesc& desc, RowInputs inputs, std::uint64_t seed)
        : desc_(desc), inputs_(inputs), seed_(seed) {}

    [[nodiscard]] std::string name() const override {
        return fmt::format("{} of [{}, {}, {}], {}", kOperationNames[static_cast<std::size_t>(desc_.operation)],
                           desc_.outer, desc_.columns, desc_.inner, name_of(inputs_));
    }
    [[nodiscard]] TuningSpace space(const DeviceInfo& info) const override { return reduce_space(info, desc_).space(); }
    [[nodiscard]] Configuration default_configuration(const DeviceInfo& info) const override {
        return reduce_space(info, desc_).configuration(default_row_config(info));
    }
    [[nodiscard]] Result<std::unique_ptr<PlannedProblem>> plan(const Device& device,
                                                               const Configuration& configuration) const override {
        ReduceDesc desc = desc_;
        desc.config = reduce_space(device.info(), desc_).config(configuration);
        YOLK_TRY(ReducePlan plan, plan_reduce(device, desc));
        return planned(std::move(plan),
                       [](const ReducePlan& of, std::span<const BufferView> views,
                          const BufferView& scratch) -> Result<PlannedProblem::Record> {
                           YOLK_TRY(BoundReduce bound, of.bind({.in = views[0], .out = views[1]}, scratch));
                           return recorded(std::move(bound));
                       });
    }
    [[nodiscard]] std::vector<ProblemBuffer> buffers() const override {
        return {input_buffer("in", input()), output_buffer("out", std::uint64_t{4} * desc_.outer * desc_.inner)};
    }
    [[nodiscard]] std::vector<Expected> expected() const override {
        const std::vector<float> in = input();
        const bool is_place = desc_.operation == ReduceOperation::Argmax;
        return {{.element = is_place ? ElementType::U32 : ElementType::F32,
                 .twin = reduce_twin(desc_, in),
                 .oracle = reduce_oracle(desc_, in)}};
    }
    [[nodiscard]] Work work() const override {
        const double rows = static_cast<double>(desc_.outer) * desc_.inner;
        return {.operations = rows * desc_.columns, .bytes = 4.0 * rows * (desc_.columns + 1.0)};
    }

   private:
    [[nodiscard]] std::vector<float> input() const {
        return row_inputs(seed_, std::size_t{desc_.outer} * desc_.columns * desc_.inner, inputs_);
    }

    ReduceDesc desc_;
    RowInputs inputs_;
    std::uint64_t seed_;
};

struct ReduceCase {
    std::uint32_t outer, columns, inner;
    RowInputs inputs;
};

// Nothing, one element, around the 32 chains, primes, more rows than a workgroup has; inner dimensions; scales.
constexpr auto kReduceCases = std::to_array<ReduceCase>({
    {0, 5, 3, RowInputs::Plain},
    {3, 5, 0, RowInputs::Plain},
    {1, 1, 1, RowInputs::Plain},
    {3, 31, 1, RowInputs::Plain},
    {3, 32, 1, RowInputs::Huge},
    {9, 33, 1, RowInputs::Ties},
    {2, 63, 5, RowInputs::Wide},
    {257, 7, 1, RowInputs::Ties},
    {3, 65, 37, RowInputs::Plain},
    {5, 1021, 1, RowInputs::Wide},
    {2, 4099, 1, RowInputs::Plain},
    {7, 129, 1, RowInputs::Tiny},
});

Problems reduce_cases(std::uint64_t seed) {
    Problems problems;
    for (const ReduceCase& c : kReduceCases) {
        for (std::uint32_t operation = 0; operation < kOperationNames.size(); ++operation) {
            const ReduceDesc desc{.operation = static_cast<ReduceOperation>(operation),
                                  .outer = c.outer,
                                  .columns = c.columns,
                                  .inner = c.inner};
            problems.push_back(std::make_unique<ReduceProblem>(desc, c.inputs, seed));
        }
    }
    return problems;
}

Problems reduce_benchmarks() {
    Problems problems;
    for (const auto& [outer, columns, inner] :
         {std::array{65536U, 64U, 1U}, std::array{4096U, 1024U, 1U}, std::array{64U, 1024U, 64U}}) {
        problems.push_back(std::make_unique<ReduceProblem>(
            ReduceDesc{.outer = outer, .columns = columns, .inner = inner}, RowInputs::Plain, 1));
    }
    return problems;
}

}  // namespace

std::unique_ptr<Problem> make_reduce_problem(const ReduceDesc& desc) {
    return std::make_unique<ReduceProblem>(desc, RowInputs::Plain, 1);
}

const Family& reduce_family() noexcept {
    static constexpr Family kFamily{.name = "reduce",
                                    .exactness = "P",
                                    .cases = &reduce_cases,
                                    .benchmarks = &reduce_benchmarks,
                                    .configurations_per_case = 2};
    return kFamily;
}

}  // namespace yolk::oracle
