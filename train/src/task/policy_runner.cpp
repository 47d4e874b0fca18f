// SPDX-License-Identifier: Apache-2.0
#include "policy_runner.hpp"

#include <algorithm>
#include <cmath>

namespace yolk::train {

Result<PolicyRunner> PolicyRunner::create(const Device& device, Dispatcher& dispatcher, const RolloutDesc& desc) {
    YOLK_TRY(RolloutPlan plan, plan_rollout(device, desc));
    YOLK_TRY(Recorder recorder, Recorder::create(device, {.label = "policy"}));
    PolicyRunner runner(dispatcher, std::move(plan), std::move(recorder));
    runner.episodes_ = desc.episodes;
    YOLK_TRY(runner.parameters_,
             device.create_buffer({.size_bytes = desc.parameters.size_bytes(), .label = "policy parameters"}));
    YOLK_TRY(runner.returns_,
             device.create_buffer({.size_bytes = std::uint64_t{4} * desc.episodes, .label = "policy returns"}));
    YOLK_TRY(runner.evaluations_, device.create_buffer({.size_bytes = std::uint64_t{4} * kEvaluationCounters,
                                                        .label = "policy evaluation counters"}));
    if (const MemoryNeeds needs = runner.plan_.scratch(); needs.size_bytes != 0) {
        YOLK_TRY(runner.scratch_, device.create_buffer({.size_bytes = needs.size_bytes, .label = "policy scratch"}));
    }
    return runner;
}

Result<std::vector<float>> PolicyRunner::run(std::span<const float> parameters, std::uint64_t seed,
                                             std::uint32_t generation, std::uint32_t first_episode,
                                             std::uint32_t episodes) {
    const std::uint32_t count = episodes == 0 ? episodes_ : std::min(episodes, episodes_);
    YOLK_TRY(const BoundRollout bound,
             plan_.bind({.parameters = parameters_, .returns = returns_, .evaluations = evaluations_},
                        scratch_.size_bytes() == 0 ? BufferView{} : BufferView{scratch_}));
    YOLK_TRY_VOID(dispatcher_->upload(parameters_, std::as_bytes(parameters)));
    recorder_.begin();
    recorder_.barrier(Barrier::TransferToCompute);
    bound.record(recorder_, {.seed = seed, .generation = generation, .time = 0, .sigma = 0.0F},
                 {.first_episode = first_episode, .episodes = count});
    recorder_.barrier(Barrier::ComputeToTransfer);
    recorder_.barrier(Barrier::ToHost);
    YOLK_TRY_VOID(dispatcher_->run(recorder_));
    std::vector<float> returns(count);
    YOLK_TRY_VOID(dispatcher_->download(BufferView{returns_, 0, std::uint64_t{4} * count},
                                        std::as_writable_bytes(std::span(returns))));
    return returns;
}

ReturnStatistics statistics_of(std::span<const float> returns) {
    double sum = 0.0;
    for (const float value : returns) sum += value;
    const double mean = sum / static_cast<double>(returns.size());
    double squares = 0.0;
    for (const float value : returns) squares += (value - mean) * (value - mean);
    ReturnStatistics statistics{.mean = mean, .deviation = std::sqrt(squares / static_cast<double>(returns.size()))};
    for (const float value : returns) {
        if (!std::isfinite(value)) {
            ++statistics.not_finite;
            continue;
        }
        // Neither is greater or less than NaN.
        if (!(statistics.worst <= value)) statistics.worst = value;
        if (!(statistics.best >= value)) statistics.best = value;
    }
    return statistics;
}

}  // namespace yolk::train
