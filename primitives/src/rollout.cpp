// SPDX-License-Identifier: Apache-2.0
#include "yolk/primitives/rollout.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <utility>

#include "plan_checks.hpp"
#include "rollout_layout.hpp"
#include "tuned_plan.hpp"
#include "yolk/core/noise.hpp"
#include "yolk/core/shape.hpp"
#include "yolk/exact/exact_math.h"

namespace yolk {

namespace abi_ro = abi::rollout;

static_assert(kEvaluationCounters == abi_ro::kEvaluationCounters);

namespace {

constexpr std::uint64_t kEvaluationsBytes = std::uint64_t{4} * kEvaluationCounters;

Result<void> measure(const Device& device, RolloutLayout& layout) {
    layout.slot_bytes = 4 * (layout.environment.info.state_words + std::uint64_t{2});
    YOLK_TRY(layout.returns_bytes,
             checked_bytes({layout.members, layout.desc.episodes}, 4, "the returns view of [rollout]"));
    return check_binding_size(device, layout.returns_bytes, "the returns view of [rollout]");
}

/// All episodes at once where a binding holds their slots.
MemoryNeeds slots_needed(const Device& device, const RolloutLayout& layout) {
    const std::uint64_t indices = rollout_indices(layout);
    const std::uint64_t most = rollout_chunk(layout, device.info().limits.max_storage_buffer_range);
    return {.size_bytes = layout.slot_bytes * most,
            .least_bytes = layout.slot_bytes * std::min(indices, kLeastRolloutChunk)};
}

/// The first `bytes` of a view that has more: a uniform range may be smaller than a buffer that holds more than
/// parameters.
BufferView first_bytes(const BufferView& view, std::uint64_t bytes) noexcept {
    return view.size_bytes <= bytes ? view : view.part(0, bytes);
}

}  // namespace

struct RolloutPlan::Impl {
    const Device* device = nullptr;
    RolloutLayout layout;
    PipelineOf<abi_ro::Params> pipeline;
};

struct BoundRollout::Impl {
    RolloutLayout layout;
    std::uint64_t chunk = 0;  ///< episodes at once, as the scratch allows
    BufferView evaluations;
    BindingOf<abi_ro::Params> binding;

    void record_steps(Recorder& recorder, abi_ro::Params params) const noexcept;
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
    if (!desc.config)
        return plan_tuned(device, desc, rollout_space(device.info(), desc), rollout_config(device.info(), desc),
                          &plan_rollout);
    RolloutPlan plan;
    plan.impl_ = std::make_unique<RolloutPlan::Impl>();
    plan.impl_->device = &device;
    RolloutLayout& layout = plan.impl_->layout;
    YOLK_TRY(layout, make_rollout_layout(device.info(), desc));
    YOLK_TRY_VOID(measure(device, layout));
    YOLK_TRY(const std::uint64_t loops, loop_budget(device));
    YOLK_TRY(layout.steps_per_dispatch,
             rollout_steps_per_dispatch(layout, {.loops = loops, .workgroup_cost = device.max_submission_cost()}));
    const auto& kernel = layout.environment.kernel(layout.unrolled, desc.determinism);
    YOLK_TRY(plan.impl_->pipeline, device.pipeline(kernel, rollout_constants(layout)));
    return plan;
}

MemoryNeeds RolloutPlan::scratch() const noexcept { return slots_needed(*impl_->device, impl_->layout); }

std::uint32_t RolloutPlan::dispatch_count() const noexcept {
    const RolloutLayout& layout = impl_->layout;
    const std::uint64_t chunks = ceil_div(rollout_indices(layout), rollout_chunk(layout, scratch().size_bytes));
    return static_cast<std::uint32_t>(chunks * ceil_div(layout.max_steps, layout.steps_per_dispatch));
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
                               {.view = scratch, .needed_bytes = this->scratch().least(), .name = "scratch"}}));
    BoundRollout bound;
    bound.impl_ = std::make_unique<BoundRollout::Impl>();
    bound.impl_->layout = layout;
    bound.impl_->chunk = rollout_chunk(layout, scratch.size_bytes);
    bound.impl_->evaluations = first_bytes(views.evaluations, kEvaluationsBytes);
    const std::array bindings{parameters, views.returns, bound.impl_->evaluations, scratch};
    YOLK_TRY(bound.impl_->binding, impl_->device->bind(impl_->pipeline, bindings));
    return bound;
}

void BoundRollout::record(Recorder& recorder, const NoiseContext& when, std::uint32_t first_episode) const noexcept {
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
        .first_index = 0,
        .index_count = 0,
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
    const std::uint64_t indices = rollout_indices(layout);
    for (std::uint64_t first = 0; first < indices; first += impl_->chunk) {
        if (first != 0) recorder.barrier(Barrier::ComputeToCompute);  // the next episodes take over the slots
        params.first_index = static_cast<std::uint32_t>(first);
        params.index_count = static_cast<std::uint32_t>(std::min(impl_->chunk, indices - first));
        impl_->record_steps(recorder, params);
    }
}

void BoundRollout::Impl::record_steps(Recorder& recorder, abi_ro::Params params) const noexcept {
    for (params.first_step = 0; params.first_step < layout.max_steps; params.first_step += params.step_count) {
        if (params.first_step != 0) recorder.barrier(Barrier::ComputeToCompute);
        params.step_count = std::min(layout.steps_per_dispatch, layout.max_steps - params.first_step);
        recorder.dispatch(binding, params,
                          grid_of(params.index_count, layout.desc.config->workgroup_size,
                                  rollout_step_cost(layout) * params.step_count));
    }
}

}  // namespace yolk
