// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <array>
#include <cmath>

#include "check_tools.hpp"
#include "yolk/oracle/check.hpp"
#include "yolk/oracle/expected_improvement.hpp"

namespace yolk::oracle {
namespace {

/// How the best value lies against the means, in deviations: far above, far below, slacks, candidates kept out.
enum class Regime : std::uint32_t { Plain, Hopeless, Certain, Slack, Tiny, Count };

class ExpectedImprovementProblem final : public Problem {
   public:
    ExpectedImprovementProblem(const ExpectedImprovementDesc& desc, Regime regime, std::uint64_t seed)
        : desc_(desc), regime_(regime), seed_(seed) {}

    [[nodiscard]] std::string name() const override {
        return fmt::format("{} candidates, rows of {}, {} steps, regime {}", desc_.count, desc_.stride, desc_.steps,
                           static_cast<std::uint32_t>(regime_));
    }
    [[nodiscard]] TuningSpace space(const DeviceInfo& info) const override {
        return expected_improvement_space(info, desc_).space();
    }
    [[nodiscard]] Configuration default_configuration(const DeviceInfo& info) const override {
        return expected_improvement_space(info, desc_).configuration({});
    }
    [[nodiscard]] Result<std::unique_ptr<PlannedProblem>> plan(const Device& device,
                                                               const Configuration& configuration) const override {
        ExpectedImprovementDesc desc = desc_;
        desc.config = expected_improvement_space(device.info(), desc_).config(configuration);
        YOLK_TRY(ExpectedImprovementPlan plan, plan_expected_improvement(device, desc));
        return planned(std::move(plan),
                       [values = values()](const ExpectedImprovementPlan& of, std::span<const BufferView> views,
                                           const BufferView& scratch) -> Result<PlannedProblem::Record> {
                           YOLK_TRY(BoundExpectedImprovement bound, of.bind({.scores = views[0],
                                                                             .left = views[1],
                                                                             .right = views[2],
                                                                             .prior = views[3],
                                                                             .variances = views[4],
                                                                             .out = views[5]},
                                                                            scratch));
                           return recorded(std::move(bound), values);
                       });
    }
    [[nodiscard]] std::vector<ProblemBuffer> buffers() const override {
        const ExpectedImprovementInputs inputs = make_inputs();
        return {input_buffer("scores", inputs.scores),        input_buffer("left", inputs.left),
                input_buffer("right", inputs.right),          input_buffer("prior", inputs.prior),
                in_out_buffer("variances", inputs.variances), output_buffer("out", sizeof(float) * desc_.count)};
    }
    [[nodiscard]] std::vector<Expected> expected() const override {
        const ExpectedImprovementInputs inputs = make_inputs();
        const auto twin = expected_improvement_twin(desc_, inputs);
        auto oracle = expected_improvement_oracle(desc_, inputs);
        return {{.twin = words_of(twin.variances), .oracle = std::move(oracle.variances)},
                {.twin = words_of(twin.gains), .oracle = std::move(oracle.gains)}};
    }
    [[nodiscard]] Work work() const override {
        const double count = desc_.count;
        return {.operations = count * (2.0 * desc_.steps + 100.0), .bytes = 4.0 * count * (2.0 * desc_.steps + 6.0)};
    }

   private:
    [[nodiscard]] ExpectedImprovementValues values() const {
        ExpectedImprovementValues values{
            .steps = desc_.steps, .level = 2.125F, .best = 1.5F, .deviation = 0.4F, .mean_slack = 0.0F};
        if (regime_ == Regime::Hopeless) values.best = -3.0F;
        if (regime_ == Regime::Certain) values.best = 40.0F;
        if (regime_ == Regime::Slack)
            values.mean_slack = 0.01F, values.variance_slack = 0x1p-10F, values.stretch = 1.25F;
        return values;
    }
    [[nodiscard]] ExpectedImprovementInputs make_inputs() const {
        Draws draws(seed_, 3);
        const std::size_t rows = desc_.count == 0 ? 0 : desc_.stride;
        const float scale = regime_ == Regime::Tiny ? 0x1p-42F : 1.0F;
        ExpectedImprovementInputs inputs{.scores = draws.uniforms(2 * rows, -1.0F * scale, 1.0F * scale),
                                         .left = draws.uniforms(desc_.steps * rows, -0.5F * scale, 0.5F * scale),
                                         .right = draws.uniforms(desc_.steps * rows, -0.5F * scale, 0.5F * scale),
                                         .prior = draws.uniforms(desc_.count, -0.5F, 0.5F),
                                         .variances = draws.uniforms(desc_.count, 0.0F, 1.0F),
                                         .values = values()};
        for (std::size_t c = 0; c < desc_.count; ++c) {
            // The last few steps leave little or nothing of some variances.
            if (draws.below(8) == 0) inputs.variances[c] *= 0x1p-12F;
            if (draws.below(8) == 0) inputs.prior[c] = 1e30F;
        }
        return inputs;
    }

    ExpectedImprovementDesc desc_;
    Regime regime_;
    std::uint64_t seed_;
};

Problems expected_improvement_cases(std::uint64_t seed) {
    // Nothing, one, primes, around the default workgroup; no step, one, some; rows with something between them.
    constexpr std::array kSizes{std::array{0U, 0U, 2U},     std::array{1U, 1U, 0U},   std::array{7U, 7U, 1U},
                                std::array{63U, 64U, 2U},   std::array{64U, 64U, 5U}, std::array{65U, 71U, 2U},
                                std::array{257U, 320U, 33U}};
    Problems problems;
    for (const auto& [count, stride, steps] : kSizes) {
        for (std::uint32_t regime = 0; regime < static_cast<std::uint32_t>(Regime::Count); ++regime) {
            problems.push_back(std::make_unique<ExpectedImprovementProblem>(
                ExpectedImprovementDesc{.count = count, .stride = stride, .steps = steps}, static_cast<Regime>(regime),
                seed + problems.size()));
        }
    }
    return problems;
}

Problems expected_improvement_benchmarks() {
    Problems problems;
    for (const std::uint32_t steps : {2U, 256U})
        problems.push_back(make_expected_improvement_problem({.count = 18'000, .stride = 18'176, .steps = steps}));
    return problems;
}

}  // namespace

std::unique_ptr<Problem> make_expected_improvement_problem(const ExpectedImprovementDesc& desc, std::uint64_t seed) {
    return std::make_unique<ExpectedImprovementProblem>(desc, Regime::Plain, seed);
}

const Family& expected_improvement_family() noexcept {
    static constexpr Family kFamily{.name = "expected_improvement",
                                    .exactness = "P",
                                    .cases = &expected_improvement_cases,
                                    .benchmarks = &expected_improvement_benchmarks,
                                    .configurations_per_case = 3};
    return kFamily;
}

}  // namespace yolk::oracle
