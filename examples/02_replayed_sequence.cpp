// SPDX-License-Identifier: Apache-2.0
// A sequence recorded once and submitted many times: each submission runs the same commands on the data of the moment,
// and makes neither an allocation nor a Vulkan object. Here: ten steps of momentum, recorded together, bring a
// parameter to the bottom of a bowl, whose slope the host writes anew before each replay.
#include <array>
#include <cmath>
#include <cstdio>

#include "yolk/primitives/optimizer.hpp"
#include "yolk/runtime/device_selection.hpp"
#include "yolk/runtime/dispatcher.hpp"

namespace {

constexpr std::uint32_t kElements = 1000;
constexpr std::uint32_t kSteps = 10;

yolk::Result<float> run() {
    YOLK_TRY(const auto instance, yolk::Instance::create());
    YOLK_TRY(const auto choice, yolk::choose_device(instance.devices(), ""));
    YOLK_TRY(const auto device, yolk::Device::create(instance, choice.index));
    YOLK_TRY(auto dispatcher, yolk::Dispatcher::create(device));
    const auto make = [&](const char* label) {
        return device.create_buffer({.size_bytes = 4 * kElements, .label = label});
    };
    YOLK_TRY(const auto gradient, make("gradient"));
    YOLK_TRY(const auto parameters, make("parameters"));
    YOLK_TRY(const auto velocity, make("velocity"));

    YOLK_TRY(const auto plan,
             yolk::plan_optimizer(device,
                                  {.rule = yolk::OptimizerRule::Momentum, .element_count = kElements, .beta1 = 0.5F}));
    YOLK_TRY(const auto step, plan.bind({.gradient = gradient, .parameters = parameters, .state = velocity}, {}));

    std::array<float, kElements> values{};
    values.fill(8.0F);
    YOLK_TRY_VOID(dispatcher.upload(parameters, std::as_bytes(std::span(values))));

    YOLK_TRY(auto recorder, yolk::Recorder::create(device, {.label = "ten steps"}));
    recorder.fill(velocity, 0);
    recorder.barrier(yolk::Barrier::TransferToCompute);
    for (std::uint32_t i = 0; i < kSteps; ++i) {
        step.record(recorder, 0.02F, i);
        recorder.barrier(yolk::Barrier::ComputeToCompute);
    }
    recorder.end();

    for (int replay = 0; replay < 20; ++replay) {
        YOLK_TRY_VOID(dispatcher.download(parameters, std::as_writable_bytes(std::span(values))));
        std::array<float, kElements> downhill{};
        for (std::size_t i = 0; i < kElements; ++i) downhill[i] = -2.0F * values[i];  // of the square
        YOLK_TRY_VOID(dispatcher.upload(gradient, std::as_bytes(std::span(downhill))));
        YOLK_TRY_VOID(dispatcher.run(recorder));  // the same commands, the new slope
    }
    YOLK_TRY_VOID(dispatcher.download(parameters, std::as_writable_bytes(std::span(values))));
    std::printf("%llu kernels in %llu submissions\n", static_cast<unsigned long long>(device.counts().dispatches),
                static_cast<unsigned long long>(device.counts().submissions));
    return std::abs(values[kElements / 2]);
}

}  // namespace

int main() {
    const auto distance = run();
    if (!distance) return std::fprintf(stderr, "%s\n", distance.error().message.c_str()), 1;
    std::printf("after 20 replays of 10 steps the parameter is %.1e from the bottom\n", double{*distance});
    return *distance < 1e-2F ? 0 : 1;
}
