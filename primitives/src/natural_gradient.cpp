// SPDX-License-Identifier: Apache-2.0
#include "yolk/primitives/natural_gradient.hpp"

#include <fmt/format.h>

#include <array>
#include <utility>

#include "block_windows.hpp"
#include "curvature_plan.hpp"
#include "plan_checks.hpp"
#include "row_plan.hpp"
#include "tuned_plan.hpp"
#include "yolk/shaders/catalogue.hpp"

namespace yolk {

namespace {

namespace abi_n = abi::natural_gradient;

/// What a kernel writes, and whether the mean is taken off.
struct Variant {
    bool projects = false;
    bool writes_step = false;
    bool writes_preconditioned = false;
};

std::array<SpecConstant, 4> projection_constants(const RowConfig& config, const Variant& variant) {
    return {{{abi_n::kSpecWorkgroupSize, row_workgroup_size(config)},
             {abi_n::kSpecProjects, variant.projects ? 1U : 0U},
             {abi_n::kSpecStep, variant.writes_step ? 1U : 0U},
             {abi_n::kSpecPreconditioned, variant.writes_preconditioned ? 1U : 0U}}};
}

Result<PipelineOf<abi_n::Params>> product_pipeline(const Device& device, const RowConfig& config,
                                                   const Variant& variant) {
    const auto& kernel = config.row_per_invocation != 0 ? kernels::kNaturalGradientProductByInvocation
                                                        : kernels::kNaturalGradientProductByGroup;
    const std::array all = projection_constants(config, variant);
    const std::array constants{all[0], all[2], all[3]};
    return device.pipeline(kernel, constants);
}

Result<PipelineOf<abi_n::Params>> project_pipeline(const Device& device, const RowConfig& config,
                                                   const Variant& variant) {
    const auto& kernel = config.row_per_invocation != 0 ? kernels::kNaturalGradientProjectByInvocation
                                                        : kernels::kNaturalGradientProjectByGroup;
    return device.pipeline(kernel, projection_constants(config, variant));
}

}  // namespace

ConfigSpace<RowConfig> natural_gradient_space(const DeviceInfo& /*info*/, const NaturalGradientDesc& desc) {
    return row_space("natural_gradient", {.variant = fmt::format("f32{}{}", desc.identity ? ", identity" : "",
                                                                 desc.project_mean ? ", projected" : ""),
                                          .extents = {desc.blocks, desc.n}});
}

Result<void> NaturalGradientPlan::plan_parts(const BlockWindows& windows) {
    blocks_per_part_ = windows.per_window;
    for (std::uint32_t w = 0; w < windows.count(); ++w) {
        NaturalGradientDesc part = desc_;
        part.blocks = windows.blocks_of(w);
        YOLK_TRY(NaturalGradientPlan planned, plan_natural_gradient(*device_, part));
        parts_.push_back(std::move(planned));
    }
    return {};
}

Result<NaturalGradientPlan> plan_natural_gradient(const Device& device, const NaturalGradientDesc& desc) {
    const std::uint64_t vector = sizeof(float) * desc.n;
    YOLK_TRY(const BlockWindows windows,
             cut_blocks(device, desc.blocks, {vector, desc.identity ? 0 : vector * desc.n}, {}, "[natural_gradient]"));
    if (!desc.config && windows.is_one())
        return plan_tuned(device, desc, natural_gradient_space(device.info(), desc), default_row_config(device.info()),
                          &plan_natural_gradient);
    NaturalGradientPlan plan;
    plan.device_ = &device;
    plan.desc_ = desc;
    if (!windows.is_one()) {
        YOLK_TRY_VOID(plan.plan_parts(windows));
        return plan;
    }
    plan.config_ = *desc.config;
    YOLK_TRY_VOID(natural_gradient_space(device.info(), desc).check(plan.config_));
    YOLK_TRY(plan.vector_bytes_,
             binding_bytes(device, {desc.blocks, desc.n}, "the gradient view of [natural_gradient]"));
    if (!desc.identity) {
        YOLK_TRY(plan.matrix_bytes_,
                 binding_bytes(device, {desc.blocks, desc.n, desc.n}, "the preconditioner view of [natural_gradient]"));
    }
    if (plan.vector_bytes_ == 0) return plan;
    const bool projects = desc.project_mean;
    const RowPasses passes{.reductions = 1, .writes = desc.identity || projects ? 1U : 0U};
    YOLK_TRY_VOID(check_row_loops(device, "[natural_gradient]", desc.n, passes, plan.config_));
    const Variant last{projects, true, desc.has_preconditioned};
    const Variant to_scratch{projects, false, true};
    if (!desc.identity) {
        YOLK_TRY(plan.product_, product_pipeline(device, plan.config_, projects ? to_scratch : last));
    }
    if (!desc.identity && projects) {
        YOLK_TRY(plan.before_, project_pipeline(device, plan.config_, to_scratch));
    }
    if (desc.identity || projects) {
        YOLK_TRY(plan.after_, project_pipeline(device, plan.config_, last));
    }
    return plan;
}

MemoryNeeds NaturalGradientPlan::scratch() const noexcept {
    if (!parts_.empty()) return parts_.front().scratch();
    if (!desc_.project_mean || desc_.identity) return {};
    return {.size_bytes = 2 * round_up(vector_bytes_, kViewAlignment)};
}

Result<BoundNaturalGradient> NaturalGradientPlan::bind_parts(const NaturalGradientViews& views,
                                                             const BufferView& scratch) const {
    const BlockWindows windows{.blocks = desc_.blocks, .per_window = blocks_per_part_};
    const std::uint64_t vector = sizeof(float) * desc_.n;
    const std::uint64_t matrix = desc_.identity ? 0 : vector * desc_.n;
    const std::uint64_t vectors = vector * desc_.blocks;
    YOLK_TRY_VOID(check_views(
        *device_, "[natural_gradient]",
        {{.view = views.preconditioner,
          .needed_bytes = matrix * desc_.blocks,
          .name = "preconditioner",
          .in_pieces = true},
         {.view = views.gradient, .needed_bytes = vectors, .name = "gradient", .in_pieces = true}},
        {{.view = views.step, .needed_bytes = vectors, .name = "step", .in_pieces = true},
         {.view = views.preconditioned,
          .needed_bytes = desc_.has_preconditioned ? vectors : 0,
          .name = "preconditioned",
          .in_pieces = true},
         {.view = scratch, .needed_bytes = this->scratch().size_bytes, .name = "scratch", .in_pieces = true}}));
    BoundNaturalGradient bound;
    for (std::uint32_t w = 0; w < windows.count(); ++w) {
        YOLK_TRY(BoundNaturalGradient part,
                 parts_[w].bind({.preconditioner = windows.of(views.preconditioner, w, matrix),
                                 .gradient = windows.of(views.gradient, w, vector),
                                 .step = windows.of(views.step, w, vector),
                                 .preconditioned = windows.of(views.preconditioned, w, vector)},
                                piece_of(scratch, 0, parts_[w].scratch().size_bytes)));
        bound.parts_.push_back(std::move(part));
    }
    return bound;
}

Result<BoundNaturalGradient> NaturalGradientPlan::bind(const NaturalGradientViews& views,
                                                       const BufferView& scratch) const {
    if (!parts_.empty()) return bind_parts(views, scratch);
    const std::uint64_t scratch_bytes = this->scratch().size_bytes;
    const std::uint64_t preconditioned_bytes = desc_.has_preconditioned ? vector_bytes_ : 0;
    YOLK_TRY_VOID(
        check_views(*device_, "[natural_gradient]",
                    {{.view = views.preconditioner, .needed_bytes = matrix_bytes_, .name = "preconditioner"},
                     {.view = views.gradient, .needed_bytes = vector_bytes_, .name = "gradient"}},
                    {{.view = views.step, .needed_bytes = vector_bytes_, .name = "step"},
                     {.view = views.preconditioned, .needed_bytes = preconditioned_bytes, .name = "preconditioned"},
                     {.view = scratch, .needed_bytes = scratch_bytes, .name = "scratch", .in_pieces = true}}));
    BoundNaturalGradient bound;
    bound.desc_ = desc_;
    bound.config_ = config_;
    if (vector_bytes_ == 0) return bound;
    // A binding may not be empty; what a kernel does not touch is bound to something that is there.
    const BufferView matrix = desc_.identity ? views.gradient : views.preconditioner;
    const BufferView result = desc_.has_preconditioned ? views.preconditioned : views.step;
    const auto add = [&](const PipelineOf<abi_n::Params>& pipeline, const BufferView& from, const BufferView& step,
                         const BufferView& to, std::uint64_t rows) -> Result<void> {
        BoundNaturalGradient::Stage& stage = bound.stages_[bound.stage_count_++];
        stage.rows = rows;
        YOLK_TRY(stage.binding, device_->bind(pipeline, std::array{matrix, from, step, to}));
        return {};
    };
    const std::uint64_t rows = std::uint64_t{desc_.blocks} * desc_.n;
    if (desc_.identity) {
        YOLK_TRY_VOID(add(after_, views.gradient, views.step, result, desc_.blocks));
        return bound;
    }
    if (!desc_.project_mean) {
        YOLK_TRY_VOID(add(product_, views.gradient, views.step, result, rows));
        return bound;
    }
    const BufferView centred = piece_of(scratch, 0, vector_bytes_);
    const BufferView product = piece_of(scratch, scratch_bytes / 2, vector_bytes_);
    YOLK_TRY_VOID(add(before_, views.gradient, views.step, centred, desc_.blocks));
    YOLK_TRY_VOID(add(product_, centred, views.step, product, rows));
    YOLK_TRY_VOID(add(after_, product, views.step, result, desc_.blocks));
    return bound;
}

void BoundNaturalGradient::record(Recorder& recorder, float learning_rate) const noexcept {
    for (std::size_t i = 0; i < parts_.size(); ++i) {
        if (i != 0) recorder.barrier(Barrier::ComputeToCompute);
        parts_[i].record(recorder, learning_rate);
    }
    if (stage_count_ == 0) return;
    const ScopedLabel label(recorder, "natural_gradient");
    for (std::uint32_t i = 0; i < stage_count_; ++i) {
        const Stage& stage = stages_[i];
        if (i != 0) recorder.barrier(Barrier::ComputeToCompute);
        recorder.dispatch(stage.binding,
                          {.row_count = static_cast<std::uint32_t>(stage.rows),
                           .n = desc_.n,
                           .one_over_n = static_cast<float>(1.0 / desc_.n),
                           .minus_learning_rate = -learning_rate},
                          row_grid(stage.rows, desc_.n, 2, config_));
    }
}

}  // namespace yolk
