// SPDX-License-Identifier: Apache-2.0
#include "recurrent_policy_layer.hpp"

#include <array>
#include <utility>

namespace yolk::evolve {

Result<void> RecurrentPolicyLayer::make(const PolicyParts& parts, const BufferView& observation) {
    const std::uint32_t inputs = parts.desc.network.widths.front(), units = parts.desc.network.recurrent;
    const auto buffer = [&](std::uint32_t columns, const char* label) {
        return parts.buffer(columns, MemoryDomain::Device, label);
    };
    YOLK_TRY(memory_, buffer(units, "memory of the policies"));
    YOLK_TRY(gated_, buffer(units, "gated memory of the policies"));
    YOLK_TRY(joined_, buffer(inputs + units, "inputs of a recurrent layer"));
    YOLK_TRY_VOID(gate_.make(parts, 0, joined_, ElementwiseOperation::Sigmoid));
    YOLK_TRY_VOID(candidate_.make(parts, 2, joined_, ElementwiseOperation::Tanh));
    YOLK_TRY(const ConcatPlan join,
             plan_concat(parts.device, {.members = parts.desc.members, .parts = {{inputs}, {units}}}));
    const auto joined_with = [&](const Buffer& second) {
        const std::array<BufferView, 2> views{observation, second};
        return join.bind({.whole = joined_, .parts = views});
    };
    YOLK_TRY(join_memory_, joined_with(memory_));
    YOLK_TRY(join_gated_, joined_with(gated_));
    using enum ElementwiseOperation;
    YOLK_TRY(multiply_,
             parts.each({{Multiply, {0, 1}}}, units, std::array<BufferView, 2>{gate_.result(), memory_}, gated_));
    // memory + (candidate - memory) gate
    YOLK_TRY(move_, parts.each({{Subtract, {0, 1}}, {Multiply, {3, 2}}, {Add, {1, 4}}}, units,
                               std::array<BufferView, 3>{candidate_.result(), memory_, gate_.result()}, memory_));
    return {};
}

void RecurrentPolicyLayer::copy(Recorder& recorder) const {
    gate_.copy(recorder);
    candidate_.copy(recorder);
}

void RecurrentPolicyLayer::perturb(Recorder& recorder, const NoiseContext& when, std::int32_t first_member) const {
    gate_.perturb(recorder, when, first_member);
    candidate_.perturb(recorder, when, first_member);
}

void RecurrentPolicyLayer::record(Recorder& recorder, const NoiseContext& when, std::int32_t first_member) const {
    join_memory_->record(recorder);
    recorder.barrier(Barrier::ComputeToCompute);
    gate_.record(recorder, when, first_member);
    multiply_->record(recorder);
    recorder.barrier(Barrier::ComputeToCompute);
    join_gated_->record(recorder);
    recorder.barrier(Barrier::ComputeToCompute);
    candidate_.record(recorder, when, first_member);
    move_->record(recorder);
    recorder.barrier(Barrier::ComputeToCompute);
}

}  // namespace yolk::evolve
