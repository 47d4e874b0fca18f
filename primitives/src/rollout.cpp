// SPDX-License-Identifier: Apache-2.0
#include "yolk/primitives/rollout.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <utility>

#include "plan_checks.hpp"
#include "rollout_layout.hpp"
#include "yolk/core/noise.hpp"
#include "yolk/core/shape.hpp"
#include "yolk/exact/exact_math.h"

namespace yolk {

namespace abi_ro = abi::rollout;

static_assert(kEvaluationCounters == abi_ro::kEvaluationCounters);

namespace {

constexpr std::uint64_t kEvaluationsBytes = std::uint64_t{4} * kEvaluationCounters;

Result<void> measure(const Device& device, RolloutLayout& layout) {
    const std::uint64_t slot_words = layout.environment.info.state_words + std::uint64_t{2};
    YOLK_TRY(layout.returns_bytes,
             checked_bytes({layout.members, layout.desc.episodes}, 4, "the returns view of [rollout]"));
    YOLK_TRY_VOID(check_binding_size(device, layout.returns_bytes, "the returns view of [rollout]"));
    layout.slots_bytes = layout.returns_bytes * slot_words;  // no overflow: returns fit in a binding
    return check_binding_size(device, layout.slots_bytes, "the scratch of [rollout]");
}

/// The first `bytes` of a view that has more: a uniform range may be smaller than a buffer that holds more than
/// parameters.
BufferView first_bytes(const BufferView& view, std::uint64_t bytes) noexcept {
    return view.size_bytes <= bytes ? view : BufferView(*view.buffer, view.offset_bytes, bytes);
}

}  // namespace

struct RolloutPlan::Impl {
    const Device* device = nullptr;
    RolloutLayout layout;
    PipelineOf<abi_ro::Params> pipeline;
};

struct BoundRollout::Impl {
    RolloutLayout layout;
    BufferView evaluations;
    BindingOf<abi_ro::Params> binding;
};

RolloutPlan::RolloutPlan() noexcept = default;
RolloutPlan::~RolloutPlan() = default;
RolloutPlan::RolloutPlan(RolloutPlan&&) noexcept = default;
RolloutPlan& RolloutPlan::operator=(RolloutPlan&&) noexcept = default;
BoundRollout::BoundRollout() noexcept = default;
BoundRollout::~BoundRollout() = default;
BoundRollout::BoundRollout(BoundRollout&&) noexcept = default;
BoundRollout& BoundRollout::operator=(BoundRollout&&) noexcept = default;

Result<RolloutPlan> plan_rollout(const Device& device, const RolloutDesc& desc) {
    RolloutPlan plan;
    plan.impl_ = std::make_unique<RolloutPlan::Impl>();
    plan.impl_->device = &device;
    RolloutLayout& layout = plan.impl_->layout;
    YOLK_TRY(layout, make_rollout_layout(device.info(), desc));
    YOLK_TRY_VOID(measure(device, layout));
    YOLK_TRY(const std::uint64_t budget, loop_budget(device));
    YOLK_TRY(layout.steps_per_dispatch, rollout_steps_per_dispatch(layout, budget));
    const auto& kernel = layout.unrolled ? *layout.environment.unrolled : *layout.environment.looped;
    YOLK_TRY(plan.impl_->pipeline, device.pipeline(kernel, rollout_constants(layout)));
    return plan;
}

MemoryNeeds RolloutPlan::scratch() const noexcept { return {.size_bytes = impl_->layout.slots_bytes}; }

std::uint32_t RolloutPlan::dispatch_count() const noexcept {
    return static_cast<std::uint32_t>(ceil_div(impl_->layout.max_steps, impl_->layout.steps_per_dispatch));
}

Result<BoundRollout> RolloutPlan::bind(const RolloutViews& views, const BufferView& scratch) const {
    const RolloutLayout& layout = impl_->layout;
    const BufferView parameters = first_bytes(views.parameters, layout.desc.parameters.size_bytes());
    YOLK_TRY_VOID(check_views(*impl_->device, "[rollout]",
                              {{.view = parameters,
                                .needed_bytes = layout.desc.parameters.size_bytes(),
                                .name = "parameters",
                                .uniform = true}},
                              {{.view = views.returns, .needed_bytes = layout.returns_bytes, .name = "returns"},
                               {.view = views.evaluations, .needed_bytes = kEvaluationsBytes, .name = "evaluations"},
                               {.view = scratch, .needed_bytes = layout.slots_bytes, .name = "scratch"}}));
    BoundRollout bound;
    bound.impl_ = std::make_unique<BoundRollout::Impl>();
    bound.impl_->layout = layout;
    bound.impl_->evaluations = first_bytes(views.evaluations, kEvaluationsBytes);
    const std::array bindings{parameters, views.returns, bound.impl_->evaluations, scratch};
    YOLK_TRY(bound.impl_->binding, impl_->device->bind(impl_->pipeline, bindings));
    return bound;
}

void BoundRollout::record(Recorder& recorder, const NoiseTime& when, std::uint32_t first_episode) const noexcept {
    const RolloutLayout& layout = impl_->layout;
    const auto sigma = static_cast<double>(when.sigma);
    abi_ro::Params params{
        .seed_low = static_cast<std::uint32_t>(when.seed),
        .seed_high = static_cast<std::uint32_t>(when.seed >> 32U),
        .generation = when.generation,
        .time = when.time,
        .members = layout.members,
        .episodes = layout.desc.episodes,
        .first_episode = first_episode,
        .first_step = 0,
        .step_count = 0,
        .never_stop = layout.desc.never_stop ? 1U : 0U,
        .matrix_scale = exact::exact_flush_operand(
            static_cast<float>(sigma / std::sqrt(static_cast<double>(layout.rank)) / kNoiseVariance)),
        .vector_scale = exact::exact_flush_operand(static_cast<float>(sigma / std::sqrt(double{kNoiseVariance}))),
    };
    const ScopedLabel label(recorder, "rollout");
    // Earlier readers of the counters (a copy to the host) and writers (the roll-out before) come first.
    recorder.barrier(Barrier::TransferToTransfer);
    recorder.barrier(Barrier::ComputeToTransfer);
    recorder.fill(impl_->evaluations, 0);
    recorder.barrier(Barrier::TransferToCompute);
    const GroupCount groups =
        groups_for(std::uint64_t{layout.members} * layout.desc.episodes, layout.desc.config.workgroup_size);
    for (params.first_step = 0; params.first_step < layout.max_steps; params.first_step += params.step_count) {
        if (params.first_step != 0) recorder.barrier(Barrier::ComputeToCompute);
        params.step_count = std::min(layout.steps_per_dispatch, layout.max_steps - params.first_step);
        recorder.dispatch(impl_->binding, params, groups);
    }
}

}  // namespace yolk
