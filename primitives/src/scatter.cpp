// SPDX-License-Identifier: Apache-2.0
#include "yolk/primitives/scatter.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "plan_checks.hpp"
#include "tuned_plan.hpp"
#include "yolk/runtime/loop_budget.hpp"
#include "yolk/shaders/catalogue.hpp"

namespace yolk {

namespace abi_ga = abi::gather;

namespace {

// Three loads and a store that depend on each other, an addition with its flushes.
constexpr std::uint64_t kIdCost = 16;

// Nothing is written, and no id is looked at.
bool writes_nothing(const ScatterDesc& desc) { return desc.members == 0 || desc.columns == 0 || desc.id_count == 0; }

}  // namespace

ConfigSpace<ScatterConfig> scatter_space(const DeviceInfo& /*info*/, const ScatterDesc& desc) {
    const auto legality = [columns = desc.columns](const ScatterConfig& config) -> Result<void> {
        if (config.elements_per_load == 1 || columns % kQuad == 0) return {};
        return bad_input(fmt::format(
            "elements_per_load of [scatter] is 4 for {} columns; use 1, or columns that are a multiple of 4.",
            columns));
    };
    return {"scatter",
            {{"workgroup_size", &ScatterConfig::workgroup_size, workgroup_sizes()},
             {"elements_per_load", &ScatterConfig::elements_per_load, {1, kQuad}},
             {"ids_per_dispatch", &ScatterConfig::ids_per_dispatch, {16, 256, 4096, 16384}}},
            legality,
            {.variant = fmt::format("f32, mode {}{}{}", static_cast<std::uint32_t>(desc.mode),
                                    desc.shared_ids ? ", shared ids" : "", desc.shared_values ? ", shared values" : ""),
             .extents = {desc.members, desc.target_rows, desc.columns, desc.id_count}}};
}

ScatterConfig default_scatter_config(const DeviceInfo& info, const ScatterDesc& desc) {
    const bool quads = info.kind == DeviceKind::Cpu && desc.columns % kQuad == 0;
    return {.elements_per_load = quads ? kQuad : 1};
}

Result<ScatterPlan> plan_scatter(const Device& device, const ScatterDesc& desc) {
    YOLK_TRY_VOID(check_range(static_cast<std::uint32_t>(desc.mode), 0, abi_ga::kScatterAdd, "mode of [scatter]"));
    ScatterPlan plan;
    plan.device_ = &device;
    plan.desc_ = desc;
    if (!desc.config)
        return plan_tuned(device, desc, scatter_space(device.info(), desc), default_scatter_config(device.info(), desc),
                          &plan_scatter);
    plan.config_ = *desc.config;
    YOLK_TRY_VOID(scatter_space(device.info(), desc).check(plan.config_));
    const std::uint64_t lists = desc.shared_ids ? 1 : desc.members;
    const std::uint64_t arrays = desc.shared_values ? 1 : desc.members;
    // Columns are counted even where there are no rows to write them to.
    YOLK_TRY(plan.target_bytes_, binding_bytes(device, {desc.members, std::max(desc.target_rows, 1U), desc.columns},
                                               "the target view of [scatter]"));
    if (desc.target_rows == 0) plan.target_bytes_ = 0;
    YOLK_TRY(plan.ids_bytes_, binding_bytes(device, {lists, desc.id_count}, "the ids view of [scatter]"));
    YOLK_TRY(plan.values_bytes_,
             binding_bytes(device, {arrays, desc.id_count, desc.columns}, "the values view of [scatter]"));
    if (writes_nothing(desc)) return plan;
    YOLK_TRY(const std::uint64_t budget, loop_budget(device));
    plan.chunk_ =
        static_cast<std::uint32_t>(std::min<std::uint64_t>(plan.config_.ids_per_dispatch, iterations_within(budget)));
    if (plan.chunk_ == 0)
        return bad_input("[scatter] needs one loop iteration; the device's loop limit is below that.");
    const std::array constants{
        SpecConstant{abi_ga::kSpecWorkgroupSize, plan.config_.workgroup_size},
        SpecConstant{abi_ga::kSpecMode, static_cast<std::uint32_t>(desc.mode)},
    };
    const auto& kernel = plan.config_.elements_per_load == 1 ? kernels::kScatter : kernels::kScatterQuads;
    YOLK_TRY(plan.pipeline_, device.pipeline(kernel, constants));
    return plan;
}

Result<BoundScatter> ScatterPlan::bind(const ScatterViews& views, const BufferView& /*scratch*/) const {
    BoundScatter bound;
    if (writes_nothing(desc_)) return bound;
    YOLK_TRY_VOID(check_views(*device_, "[scatter]",
                              {{.view = views.ids, .needed_bytes = ids_bytes_, .name = "ids"},
                               {.view = views.values, .needed_bytes = values_bytes_, .name = "values"}},
                              {{.view = views.target, .needed_bytes = target_bytes_, .name = "target"},
                               {.view = views.status, .needed_bytes = kElementBytes, .name = "status"}}));
    const std::uint32_t width = config_.elements_per_load;
    const std::uint32_t columns = desc_.columns / width;
    bound.params_ = {
        .members = desc_.members,
        .table_rows = desc_.target_rows,
        .columns = columns,
        .id_count = desc_.id_count,
        .first_id = 0,
        .end_id = 0,
        .table_stride = desc_.target_rows * columns,
        .ids_stride = desc_.shared_ids ? 0 : desc_.id_count,
        .values_stride = desc_.shared_values ? 0 : desc_.id_count * columns,
    };
    bound.chunk_ = chunk_;
    bound.grid_ = grid_of(std::uint64_t{desc_.members} * columns, config_.workgroup_size,
                          kIdCost * width * std::min(chunk_, desc_.id_count));
    // A binding may not be empty; of a target without rows nothing is read or written.
    const BufferView& target = target_bytes_ == 0 ? views.values : views.target;
    YOLK_TRY(bound.binding_, device_->bind(pipeline_, std::array{target, views.ids, views.values, views.status}));
    return bound;
}

void BoundScatter::record(Recorder& recorder) const noexcept {
    if (chunk_ == 0) return;
    const ScopedLabel label(recorder, "scatter");
    abi_ga::Params params = params_;
    while (params.first_id < params.id_count) {
        if (params.first_id != 0) recorder.barrier(Barrier::ComputeToCompute);
        params.end_id = params.first_id + std::min(chunk_, params.id_count - params.first_id);
        recorder.dispatch(binding_, params, grid_);
        params.first_id = params.end_id;
    }
}

}  // namespace yolk
