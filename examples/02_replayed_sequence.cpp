// SPDX-License-Identifier: Apache-2.0
// A sequence recorded once and submitted many times: each submission runs the same commands on the data of the moment,
// and makes neither an allocation nor a Vulkan object. Here: ten steps of momentum, recorded together, bring a
// parameter to the bottom of a bowl, whose slope the host writes anew before each replay.
#include <cmath>
#include <cstdio>
#include <vector>

#include "yolk/context.hpp"
#include "yolk/optimizer.hpp"

namespace {

constexpr std::uint32_t kElements = 1000;
constexpr std::uint32_t kSteps = 10;

yolk::Result<float> run() {
    YOLK_TRY(const auto context, yolk::Context::create());
    YOLK_TRY(const auto gradient, context.allocate<float>(kElements, "gradient"));
    YOLK_TRY(const auto parameters, context.upload(std::vector<float>(kElements, 8.0F), "parameters"));
    YOLK_TRY(const auto velocity, context.allocate<float>(kElements, "velocity"));

    YOLK_TRY(const auto plan,
             yolk::plan_optimizer(context.device(),
                                  {.rule = yolk::OptimizerRule::Momentum, .element_count = kElements, .beta1 = 0.5F}));
    YOLK_TRY(const auto step, plan.bind({.gradient = gradient, .parameters = parameters, .state = velocity}, {}));

    YOLK_TRY(auto recorder, yolk::Recorder::create(context.device(), {.label = "ten steps"}));
    recorder.fill(velocity, 0);
    recorder.barrier(yolk::Barrier::TransferToCompute);
    for (std::uint32_t i = 0; i < kSteps; ++i) {
        step.record(recorder, 0.02F, i);
        recorder.barrier(yolk::Barrier::ComputeToCompute);
    }
    recorder.end();

    for (int replay = 0; replay < 20; ++replay) {
        YOLK_TRY(std::vector<float> downhill, context.download<float>(parameters));
        for (float& value : downhill) value *= -2.0F;  // of the square
        YOLK_TRY_VOID(context.upload(gradient, downhill));
        YOLK_TRY_VOID(context.dispatcher().run(recorder));  // the same commands, the new slope
    }
    YOLK_TRY(const std::vector<float> values, context.download<float>(parameters));
    const yolk::OperationCounts counts = context.device().counts();
    std::printf("%llu kernels in %llu submissions\n", static_cast<unsigned long long>(counts.dispatches),
                static_cast<unsigned long long>(counts.submissions));
    return std::abs(values[kElements / 2]);
}

}  // namespace

int main() {
    const auto distance = run();
    if (!distance) return std::fprintf(stderr, "%s\n", distance.error().message.c_str()), 1;
    std::printf("after 20 replays of 10 steps the parameter is %.1e from the bottom\n", double{*distance});
    return *distance < 1e-2F ? 0 : 1;
}
