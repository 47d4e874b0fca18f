// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <array>

#include "check_tools.hpp"
#include "row_inputs.hpp"
#include "yolk/oracle/check.hpp"
#include "yolk/oracle/family.hpp"
#include "yolk/oracle/softmax.hpp"

namespace yolk::oracle {
namespace {

class SoftmaxProblem final : public Problem {
   public:
    SoftmaxProblem(const SoftmaxDesc& desc, RowInputs inputs, std::uint64_t seed)
        : desc_(desc), inputs_(inputs), seed_(seed) {}

    [[nodiscard]] std::string name() const override {
        return fmt::format("{} of [{}, {}, {}], {}", desc_.logarithm ? "log_softmax" : "softmax", desc_.members,
                           desc_.rows, desc_.columns, name_of(inputs_));
    }
    [[nodiscard]] TuningSpace space(const DeviceInfo& info) const override {
        return softmax_space(info, desc_).space();
    }
    [[nodiscard]] Configuration default_configuration(const DeviceInfo& info) const override {
        return softmax_space(info, desc_).configuration(default_row_config(info));
    }
    [[nodiscard]] Result<std::unique_ptr<PlannedProblem>> plan(const Device& device,
                                                               const Configuration& configuration) const override {
        SoftmaxDesc desc = desc_;
        desc.config = softmax_space(device.info(), desc_).config(configuration);
        YOLK_TRY(SoftmaxPlan plan, plan_softmax(device, desc));
        return planned(std::move(plan),
                       [](const SoftmaxPlan& of, std::span<const BufferView> views,
                          const BufferView& scratch) -> Result<PlannedProblem::Record> {
                           YOLK_TRY(BoundSoftmax bound, of.bind({.in = views[0], .out = views[1]}, scratch));
                           return recorded(std::move(bound));
                       });
    }
    [[nodiscard]] std::vector<ProblemBuffer> buffers() const override {
        return {input_buffer("in", input()), output_buffer("out", sizeof(float) * count())};
    }
    [[nodiscard]] std::vector<Expected> expected() const override {
        const std::vector<float> in = input();
        return {{.twin = words_of(softmax_twin(desc_, in)), .oracle = softmax_oracle(desc_, in)}};
    }
    /// Two exponentials of 24 operations and a few more.
    [[nodiscard]] Work work() const override {
        const auto elements = static_cast<double>(count());
        return {.operations = 55.0 * elements, .bytes = 8.0 * elements};
    }

   private:
    [[nodiscard]] std::size_t count() const { return std::size_t{desc_.members} * desc_.rows * desc_.columns; }
    [[nodiscard]] std::vector<float> input() const { return row_inputs(seed_, count(), inputs_); }

    SoftmaxDesc desc_;
    RowInputs inputs_;
    std::uint64_t seed_;
};

struct SoftmaxCase {
    std::uint32_t members, rows, columns;
    RowInputs inputs;
};

// Nothing, one element, around the 32 chains, primes, more rows than a workgroup has; scales, masked elements.
constexpr auto kSoftmaxCases = std::to_array<SoftmaxCase>({
    {0, 3, 5, RowInputs::Plain},
    {3, 0, 5, RowInputs::Plain},
    {3, 5, 0, RowInputs::Plain},
    {1, 1, 1, RowInputs::Plain},
    {2, 3, 2, RowInputs::Ties},
    {2, 5, 31, RowInputs::Masked},
    {1, 7, 32, RowInputs::Plain},
    {3, 3, 33, RowInputs::Steep},
    {1, 5, 65, RowInputs::Huge},
    {2, 2, 1021, RowInputs::Masked},
    {1, 1, 4099, RowInputs::Plain},
    {257, 3, 10, RowInputs::Plain},
    {2, 4, 40, RowInputs::Tiny},
});

Problems softmax_cases(std::uint64_t seed) {
    Problems problems;
    for (const SoftmaxCase& c : kSoftmaxCases) {
        for (const bool logarithm : {false, true}) {
            problems.push_back(std::make_unique<SoftmaxProblem>(
                SoftmaxDesc{.members = c.members, .rows = c.rows, .columns = c.columns, .logarithm = logarithm},
                c.inputs, seed));
        }
    }
    return problems;
}

Problems softmax_benchmarks() {
    Problems problems;
    for (const auto& [members, rows, columns] :
         {std::array{4096U, 16U, 10U}, std::array{64U, 64U, 256U}, std::array{16U, 16U, 4096U}}) {
        problems.push_back(std::make_unique<SoftmaxProblem>(
            SoftmaxDesc{.members = members, .rows = rows, .columns = columns}, RowInputs::Plain, 1));
    }
    return problems;
}

}  // namespace

std::unique_ptr<Problem> make_softmax_problem(const SoftmaxDesc& desc) {
    return std::make_unique<SoftmaxProblem>(desc, RowInputs::Plain, 1);
}

const Family& softmax_family() noexcept {
    static constexpr Family kFamily{.name = "softmax",
                                    .exactness = "P",
                                    .cases = &softmax_cases,
                                    .benchmarks = &softmax_benchmarks,
                                    .configurations_per_case = 2};
    return kFamily;
}

}  // namespace yolk::oracle
