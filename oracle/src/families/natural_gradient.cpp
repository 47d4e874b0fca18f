// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <array>

#include "check_tools.hpp"
#include "natural_gradient_oracle.hpp"
#include "row_inputs.hpp"
#include "yolk/oracle/families.hpp"
#include "yolk/oracle/problems.hpp"
#include "yolk/reference/natural_gradient.hpp"

namespace yolk::oracle {
namespace {

class NaturalGradientProblem final : public Problem {
   public:
    NaturalGradientProblem(const NaturalGradientDesc& desc, RowInputs inputs, float learning_rate, std::uint64_t seed)
        : desc_(desc), inputs_(inputs), learning_rate_(learning_rate), seed_(seed) {}

    [[nodiscard]] std::string name() const override {
        return fmt::format("{} blocks of {}{}{}{}, rate {}, {}", desc_.blocks, desc_.n,
                           desc_.identity ? ", identity" : "", desc_.project_mean ? ", projected" : "",
                           desc_.has_preconditioned ? ", both outputs" : "", learning_rate_, name_of(inputs_));
    }
    [[nodiscard]] TuningSpace space(const DeviceInfo& info) const override {
        return natural_gradient_space(info, desc_).space();
    }
    [[nodiscard]] Configuration default_configuration(const DeviceInfo& info) const override {
        return natural_gradient_space(info, desc_).configuration(default_row_config(info));
    }
    [[nodiscard]] Result<std::unique_ptr<PlannedProblem>> plan(const Device& device,
                                                               const Configuration& configuration) const override {
        NaturalGradientDesc desc = desc_;
        desc.config = natural_gradient_space(device.info(), desc_).config(configuration);
        YOLK_TRY(NaturalGradientPlan plan, plan_natural_gradient(device, desc));
        return planned(std::move(plan),
                       [rate = learning_rate_, both = desc.has_preconditioned](
                           const NaturalGradientPlan& of, std::span<const BufferView> views,
                           const BufferView& scratch) -> Result<PlannedProblem::Record> {
                           YOLK_TRY(BoundNaturalGradient bound,
                                    of.bind({.preconditioner = views[0],
                                             .gradient = views[1],
                                             .step = views[2],
                                             .preconditioned = both ? views[3] : BufferView{}},
                                            scratch));
                           return recorded(std::move(bound), rate);
                       });
    }
    [[nodiscard]] std::vector<ProblemBuffer> buffers() const override {
        const reference::NaturalGradientInputs inputs = make_inputs();
        const std::uint64_t size_bytes = sizeof(float) * inputs.gradient.size();
        std::vector<ProblemBuffer> all{input_buffer("preconditioner", inputs.preconditioner),
                                       input_buffer("gradient", inputs.gradient), output_buffer("step", size_bytes)};
        if (desc_.has_preconditioned) all.push_back(output_buffer("preconditioned", size_bytes));
        return all;
    }
    [[nodiscard]] std::vector<Expected> expected() const override {
        const reference::NaturalGradientInputs inputs = make_inputs();
        const auto twin = reference::natural_gradient_twin(desc_, inputs);
        auto oracle = natural_gradient_oracle(desc_, inputs);
        std::vector<Expected> all{{.twin = words_of(twin.step), .oracle = std::move(oracle.step)}};
        if (desc_.has_preconditioned)
            all.push_back({.twin = words_of(twin.preconditioned), .oracle = std::move(oracle.preconditioned)});
        return all;
    }
    [[nodiscard]] Work work() const override {
        const double vectors = static_cast<double>(desc_.blocks) * desc_.n;
        const double elements = desc_.identity ? 0.0 : vectors * desc_.n;
        return {.operations = 2.0 * elements + vectors, .bytes = 4.0 * (elements + 2.0 * vectors)};
    }

   private:
    [[nodiscard]] reference::NaturalGradientInputs make_inputs() const {
        const std::size_t vectors = std::size_t{desc_.blocks} * desc_.n;
        return {.preconditioner = row_inputs(seed_, desc_.identity ? 0 : vectors * desc_.n, inputs_),
                .gradient = row_inputs(seed_ + 1, vectors, inputs_),
                .learning_rate = learning_rate_};
    }

    NaturalGradientDesc desc_;
    RowInputs inputs_;
    float learning_rate_;
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
    Problems problems;
    for (const auto& [blocks, n] : {std::array{1024U, 32U}, std::array{64U, 256U}, std::array{4U, 1024U}}) {
        problems.push_back(std::make_unique<NaturalGradientProblem>(NaturalGradientDesc{.n = n, .blocks = blocks},
                                                                    RowInputs::Plain, 0.1F, 1));
    }
    return problems;
}

}  // namespace

std::unique_ptr<Problem> make_natural_gradient_problem(const NaturalGradientDesc& desc) {
    return std::make_unique<NaturalGradientProblem>(desc, RowInputs::Plain, 0.1F, 1);
}

const Family& natural_gradient_family() noexcept {
    static constexpr Family kFamily{.name = "natural_gradient",
                                    .exactness = "P",
                                    .cases = &natural_gradient_cases,
                                    .benchmarks = &natural_gradient_benchmarks,
                                    .configurations_per_case = 2};
    return kFamily;
}

}  // namespace yolk::oracle
