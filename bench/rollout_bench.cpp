// SPDX-License-Identifier: Apache-2.0
// Evaluations (steps) per second of rollout: CartPole with a 4-64-2 policy, 4,096 members that never stop, 200 steps,
// by the form of the kernel. Members that stop leave their lane idle until their neighbours stop too, so training sees
// less in its first generations.
#include <fmt/format.h>

#include <array>
#include <cmath>
#include <cstddef>
#include <optional>
#include <span>
#include <vector>

#include "bench.hpp"
#include "yolk/rollout.hpp"

namespace yolk::bench {
namespace {

constexpr std::uint32_t kMembers = 4096;
constexpr std::uint32_t kSteps = 200;

struct Form {
    const char* name;
    std::optional<RolloutConfig> config;  ///< none: the device's own
};

constexpr std::array kForms{
    Form{"default", {}},
    Form{"unrolled-uniform", RolloutConfig{.unrolled = true, .private_parameters = false}},
    Form{"looped-private", RolloutConfig{.unrolled = false, .private_parameters = true}},
    Form{"looped-uniform", RolloutConfig{.unrolled = false, .private_parameters = false}},
    Form{"packed", RolloutConfig{.unrolled = true, .private_parameters = false, .packed = true}},
};

Result<void> time_rollout(benchmark::State& state, BenchDevice& on, std::uint32_t rank,
                          const std::optional<RolloutConfig>& config) {
    RolloutDesc desc{.members = kMembers, .max_steps = kSteps, .rank = rank, .never_stop = true, .config = config};
    YOLK_TRY(desc.parameters, ParameterTable::create(desc.network.parameters()));
    const auto buffer = [&](std::uint64_t bytes, const char* label) {
        return on.device.create_buffer({.size_bytes = bytes, .label = label});
    };
    YOLK_TRY(const RolloutPlan plan, plan_rollout(on.device, desc));
    YOLK_TRY(const Buffer parameters, buffer(desc.parameters.size_bytes(), "parameters"));
    YOLK_TRY(const Buffer returns, buffer(std::uint64_t{4} * kMembers, "returns"));
    YOLK_TRY(const Buffer evaluations, buffer(std::uint64_t{4} * kEvaluationCounters, "evaluations"));
    YOLK_TRY(const Buffer scratch, buffer(plan.scratch().size_bytes, "scratch"));
    YOLK_TRY(const BoundRollout bound,
             plan.bind({.parameters = parameters, .returns = returns, .evaluations = evaluations}, scratch));
    std::vector<float> values(desc.parameters.element_count());
    for (std::size_t i = 0; i < values.size(); ++i) values[i] = 0.3F * std::sin(static_cast<float>(i * i));
    YOLK_TRY_VOID(on.dispatcher.upload(parameters, std::as_bytes(std::span(values))));
    time_on_device(state, on, double{kMembers} * kSteps,
                   [&](Recorder& recorder) { bound.record(recorder, {.seed = 42, .sigma = 0.2F}); });
    return {};
}

void add(std::span<BenchDevice> devices) {
    for (BenchDevice& on : devices) {
        for (const std::uint32_t rank : {1U, 4U}) {
            for (const Form& form : kForms) {
                const auto name = fmt::format("rollout/{}/rank:{}/{}", on.name, rank, form.name);
                benchmark::RegisterBenchmark(name.c_str(), [&on, rank, form](benchmark::State& state) {
                    if (const auto timed = time_rollout(state, on, rank, form.config); !timed)
                        state.SkipWithError(timed.error().message.c_str());
                })->UseManualTime();
            }
        }
    }
}

const Registration kRegistration(add);

}  // namespace
}  // namespace yolk::bench
