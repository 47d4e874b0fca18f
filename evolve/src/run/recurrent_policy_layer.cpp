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
    const auto operation = [&](ElementwiseOperation kind, const Buffer& first, const Buffer& second,
                               const Buffer& out) -> Result<BoundElementwise> {
        YOLK_TRY(const ElementwisePlan plan, parts.each(kind, units));
        return plan.bind({.first = first, .second = second, .out = out});
    };
    using enum ElementwiseOperation;
    YOLK_TRY(multiply_, operation(Multiply, gate_.result(), memory_, gated_));
    // memory + gate (candidate - memory)
    YOLK_TRY(BoundElementwise subtract, operation(Subtract, candidate_.result(), memory_, gated_));
    YOLK_TRY(BoundElementwise weigh, operation(Multiply, gated_, gate_.result(), gated_));
    YOLK_TRY(BoundElementwise add, operation(Add, memory_, gated_, memory_));
    move_.push_back(std::move(subtract));
    move_.push_back(std::move(weigh));
    move_.push_back(std::move(add));
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
    for (const BoundElementwise& each : move_) {
        each.record(recorder);
        recorder.barrier(Barrier::ComputeToCompute);
    }
}

}  // namespace yolk::evolve
