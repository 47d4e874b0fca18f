// SPDX-License-Identifier: Apache-2.0
#include "yolk/natural_gradient.hpp"

#include <array>
#include <utility>

#include "operation_plan.hpp"
#include "row_plan.hpp"
#include "yolk/internal/shaders/catalogue.hpp"

namespace yolk {

namespace {

namespace abi_n = abi::natural_gradient;

/// What a kernel writes, and whether the mean is taken off.
struct Variant {
    bool projects = false;
    bool writes_step = false;
    bool writes_preconditioned = false;
};

std::array<SpecConstant, 5> projection_constants(const RowConfig& config, const Variant& variant) {
    return {{{abi_n::kSpecWorkgroupSize, row_workgroup_size(config)},
             {abi_n::kSpecProjects, variant.projects ? 1U : 0U},
             {abi_n::kSpecStep, variant.writes_step ? 1U : 0U},
             {abi_n::kSpecPreconditioned, variant.writes_preconditioned ? 1U : 0U},
             {abi_n::kSpecRowLanes, config.lanes_per_row}}};
}

Result<PipelineOf<abi_n::Params>> product_pipeline(const Device& device, const RowConfig& config,
                                                   const Variant& variant) {
    const auto& kernel = config.row_per_invocation != 0 ? kernels::kNaturalGradientProductByInvocation
                                                        : kernels::kNaturalGradientProductByGroup;
    const std::array all = projection_constants(config, variant);
    const std::array constants{all[0], all[2], all[3], all[4]};
    return device.pipeline(kernel, constants);
}

Result<PipelineOf<abi_n::Params>> project_pipeline(const Device& device, const RowConfig& config,
                                                   const Variant& variant) {
    const auto& kernel = config.row_per_invocation != 0 ? kernels::kNaturalGradientProjectByInvocation
                                                        : kernels::kNaturalGradientProjectByGroup;
    return device.pipeline(kernel, projection_constants(config, variant));
}

ViewShape preconditioner_view(const NaturalGradientDesc& desc) {
    return {.extents = {{"blocks", desc.blocks}, {"n", desc.n}, {"n", desc.n}}, .used = !desc.identity};
}
ViewShape gradient_view(const NaturalGradientDesc& desc) { return {{{"blocks", desc.blocks}, {"n", desc.n}}}; }
ViewShape preconditioned_view(const NaturalGradientDesc& desc) {
    return {.extents = {{"blocks", desc.blocks}, {"n", desc.n}}, .used = desc.has_preconditioned};
}

std::vector<Knob<RowConfig>> natural_gradient_knobs(const DeviceInfo& /*info*/, const NaturalGradientDesc& /*desc*/) {
    return row_knobs(false);
}
Result<void> natural_gradient_legal(const DeviceInfo& /*info*/, const NaturalGradientDesc& /*desc*/,
                                    const RowConfig& config) {
    return check_row_config(config);
}
RowConfig natural_gradient_heuristic(const DeviceInfo& info, const NaturalGradientDesc& desc) {
    // Of the product; to take the mean off there is a row per block.
    return heuristic_row_config(info, std::uint64_t{desc.blocks} * desc.n, desc.n);
}

Result<NaturalGradientPipelines> build_natural_gradient(const Device& device, const NaturalGradientDesc& desc) {
    const RowConfig& config = *desc.config;
    const bool projects = desc.project_mean;
    const RowPasses passes{.reductions = 1, .writes = desc.identity || projects ? 1U : 0U};
    YOLK_TRY_VOID(check_row_loops(device, "[natural_gradient]", desc.n, passes, config));
    const Variant last{projects, true, desc.has_preconditioned};
    const Variant to_scratch{projects, false, true};
    NaturalGradientPipelines made;
    if (!desc.identity) {
        YOLK_TRY(made.product, product_pipeline(device, config, projects ? to_scratch : last));
    }
    if (!desc.identity && projects) {
        YOLK_TRY(made.before, project_pipeline(device, config, to_scratch));
    }
    if (desc.identity || projects) {
        YOLK_TRY(made.after, project_pipeline(device, config, last));
    }
    return made;
}

std::uint64_t vector_bytes(const NaturalGradientDesc& desc) noexcept { return kElementBytes * desc.blocks * desc.n; }

MemoryNeeds natural_gradient_scratch(const NaturalGradientDesc& desc, const NaturalGradientPipelines& /*made*/) {
    if (!desc.project_mean || desc.identity) return {};
    return {.size_bytes = 2 * round_up(vector_bytes(desc), kViewAlignment)};
}

Result<NaturalGradientBindings> bind_natural_gradient(const Device& device, const NaturalGradientDesc& desc,
                                                      const NaturalGradientPipelines& made,
                                                      const NaturalGradientViews& views, const BufferView& scratch) {
    // A binding may not be empty; what a kernel does not touch is bound to something that is there.
    const BufferView matrix = desc.identity ? views.gradient : views.preconditioner;
    const BufferView result = desc.has_preconditioned ? views.preconditioned : views.step;
    NaturalGradientBindings bound;
    const auto add = [&](const PipelineOf<abi_n::Params>& pipeline, const BufferView& from, const BufferView& to,
                         std::uint64_t rows) -> Result<void> {
        NaturalGradientBindings::Stage& stage = bound.stages[bound.stage_count++];
        stage.rows = rows;
        YOLK_TRY(stage.binding, device.bind(pipeline, std::array{matrix, from, views.step, to}));
        return {};
    };
    const std::uint64_t rows = std::uint64_t{desc.blocks} * desc.n;
    if (desc.identity) {
        YOLK_TRY_VOID(add(made.after, views.gradient, result, desc.blocks));
    } else if (!desc.project_mean) {
        YOLK_TRY_VOID(add(made.product, views.gradient, result, rows));
    } else {
        const BufferView centred = scratch.part(0, vector_bytes(desc));
        const BufferView product = scratch.part(round_up(vector_bytes(desc), kViewAlignment), vector_bytes(desc));
        YOLK_TRY_VOID(add(made.before, views.gradient, centred, desc.blocks));
        YOLK_TRY_VOID(add(made.product, centred, product, rows));
        YOLK_TRY_VOID(add(made.after, product, result, desc.blocks));
    }
    return bound;
}

void record_natural_gradient(Recorder& recorder, const NaturalGradientBindings& bound, const NaturalGradientDesc& desc,
                             float learning_rate) noexcept {
    for (std::uint32_t i = 0; i < bound.stage_count; ++i) {
        const NaturalGradientBindings::Stage& stage = bound.stages[i];
        if (i != 0) recorder.barrier(Barrier::ComputeToCompute);
        recorder.dispatch(stage.binding,
                          {.row_count = static_cast<std::uint32_t>(stage.rows),
                           .n = desc.n,
                           .one_over_n = static_cast<float>(1.0 / desc.n),
                           .minus_learning_rate = -learning_rate},
                          row_grid(stage.rows, desc.n, 2, *desc.config));
    }
}

}  // namespace

template <>
const Operation<NaturalGradientDesc>& operation_of<NaturalGradientDesc>() {
    using Desc = NaturalGradientDesc;
    using Views = NaturalGradientViews;
    static const Operation<Desc> kOperation{
        .name = "natural_gradient",
        .fields = {"natural_gradient",
                   {extent<&Desc::blocks>("blocks"), extent<&Desc::n>("n"), variant<&Desc::identity>("identity"),
                    variant<&Desc::project_mean>("projected"),
                    variant<&Desc::has_preconditioned>("preconditioned").in_no_key()}},
        .views = {{"preconditioner", ViewRole::Input, &Views::preconditioner, &preconditioner_view},
                  {"gradient", ViewRole::Input, &Views::gradient, &gradient_view},
                  {"step", ViewRole::Output, &Views::step, &gradient_view},
                  {"preconditioned", ViewRole::Output, &Views::preconditioned, &preconditioned_view}},
        .knobs = &natural_gradient_knobs,
        .legal = &natural_gradient_legal,
        .heuristic = &natural_gradient_heuristic,
        .blocks = {.count = &Desc::blocks},
        .scratch_in_pieces = true,
        .build = &build_natural_gradient,
        .scratch = &natural_gradient_scratch,
        .bind = &bind_natural_gradient,
        .record = &record_natural_gradient,
    };
    return kOperation;
}
template class Plan<NaturalGradientDesc>;

}  // namespace yolk
