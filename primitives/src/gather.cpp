// SPDX-License-Identifier: Apache-2.0
#include "yolk/primitives/gather.hpp"

#include <fmt/format.h>

#include <array>

#include "plan_checks.hpp"
#include "streaming_default.hpp"
#include "tuned_plan.hpp"
#include "yolk/shaders/catalogue.hpp"

namespace yolk {

namespace abi_ga = abi::gather;

namespace {

// Two loads, a store, and divisions of indices.
constexpr std::uint64_t kGatherLoadCost = 16;

}  // namespace

ConfigSpace<GatherConfig> gather_space(const DeviceInfo& /*info*/, const GatherDesc& desc) {
    const auto legality = [columns = desc.columns](const GatherConfig& config) -> Result<void> {
        if (config.elements_per_load == 1 || columns % kQuad == 0) return {};
        return bad_input(fmt::format(
            "elements_per_load of [gather] is 4 for {} columns; use 1, or columns that are a multiple of 4.", columns));
    };
    return {"gather",
            {{"workgroup_size", &GatherConfig::workgroup_size, workgroup_sizes()},
             {"loads_per_invocation", &GatherConfig::loads_per_invocation, {1, 2, 4, 8}},
             {"elements_per_load", &GatherConfig::elements_per_load, {1, kQuad}}},
            legality,
            {.variant = fmt::format("f32{}{}", desc.shared_table ? ", shared table" : "",
                                    desc.shared_ids ? ", shared ids" : ""),
             .extents = {desc.members, desc.table_rows, desc.columns, desc.id_count}}};
}

GatherConfig default_gather_config(const DeviceInfo& info, const GatherDesc& desc) {
    const std::uint32_t width = desc.columns % kQuad == 0 ? kQuad : 1;
    const auto [workgroup, loads] =
        streaming_default(info, row_count(desc.members, desc.id_count) * (desc.columns / width));
    return {.workgroup_size = workgroup, .loads_per_invocation = loads, .elements_per_load = width};
}

Result<GatherPlan> plan_gather(const Device& device, const GatherDesc& desc) {
    GatherPlan plan;
    plan.device_ = &device;
    plan.desc_ = desc;
    if (!desc.config)
        return plan_tuned(device, desc, gather_space(device.info(), desc), default_gather_config(device.info(), desc),
                          &plan_gather);
    plan.config_ = *desc.config;
    YOLK_TRY_VOID(gather_space(device.info(), desc).check(plan.config_));
    const std::uint64_t tables = desc.shared_table ? 1 : desc.members;
    const std::uint64_t lists = desc.shared_ids ? 1 : desc.members;
    YOLK_TRY(plan.table_bytes_,
             binding_bytes(device, {tables, desc.table_rows, desc.columns}, "the table view of [gather]"));
    YOLK_TRY(plan.ids_bytes_, binding_bytes(device, {lists, desc.id_count}, "the ids view of [gather]"));
    YOLK_TRY(plan.out_bytes_,
             binding_bytes(device, {desc.members, desc.id_count, desc.columns}, "the out view of [gather]"));
    if (plan.out_bytes_ == 0) return plan;
    const std::array constants{
        SpecConstant{abi_ga::kSpecWorkgroupSize, plan.config_.workgroup_size},
        SpecConstant{abi_ga::kSpecLoadsPerInvocation, plan.config_.loads_per_invocation},
    };
    const auto& kernel = plan.config_.elements_per_load == 1 ? kernels::kGather : kernels::kGatherQuads;
    YOLK_TRY(plan.pipeline_, device.pipeline(kernel, constants));
    return plan;
}

Result<BoundGather> GatherPlan::bind(const GatherViews& views, const BufferView& /*scratch*/) const {
    BoundGather bound;
    if (out_bytes_ == 0) return bound;
    YOLK_TRY_VOID(check_views(*device_, "[gather]",
                              {{.view = views.table, .needed_bytes = table_bytes_, .name = "table"},
                               {.view = views.ids, .needed_bytes = ids_bytes_, .name = "ids"}},
                              {{.view = views.out, .needed_bytes = out_bytes_, .name = "out"},
                               {.view = views.status, .needed_bytes = kElementBytes, .name = "status"}}));
    const std::uint32_t width = config_.elements_per_load;
    const std::uint32_t columns = desc_.columns / width;
    bound.params_ = {
        .members = desc_.members,
        .table_rows = desc_.table_rows,
        .columns = columns,
        .id_count = desc_.id_count,
        .first_id = 0,
        .end_id = desc_.id_count,
        .table_stride = desc_.shared_table ? 0 : desc_.table_rows * columns,
        .ids_stride = desc_.shared_ids ? 0 : desc_.id_count,
        .values_stride = desc_.id_count * columns,
    };
    bound.grid_ =
        grid_of(out_bytes_ / (kElementBytes * width),
                std::uint64_t{config_.workgroup_size} * config_.loads_per_invocation, kGatherLoadCost * width);
    // A binding may not be empty; of a table without rows nothing is read.
    const BufferView& table = table_bytes_ == 0 ? views.ids : views.table;
    YOLK_TRY(bound.binding_, device_->bind(pipeline_, std::array{table, views.ids, views.out, views.status}));
    return bound;
}

void BoundGather::record(Recorder& recorder) const noexcept {
    if (grid_.groups == 0) return;
    const ScopedLabel label(recorder, "gather");
    recorder.dispatch(binding_, params_, grid_);
}

}  // namespace yolk
