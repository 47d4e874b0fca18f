// SPDX-License-Identifier: Apache-2.0
#include "yolk/gather.hpp"

#include <array>

#include "operation_plan.hpp"
#include "streaming_default.hpp"
#include "yolk/internal/shaders/catalogue.hpp"

namespace yolk {
namespace {

namespace abi_ga = abi::gather;

// Two loads, a store, and divisions of indices.
constexpr std::uint64_t kGatherLoadCost = 16;

ViewShape table_view(const GatherDesc& desc) {
    if (desc.shared_table) return {{{"table_rows", desc.table_rows}, {"columns", desc.columns}}, DType::U32};
    return {{{"members", desc.members}, {"table_rows", desc.table_rows}, {"columns", desc.columns}}, DType::U32};
}
ViewShape ids_view(const GatherDesc& desc) {
    if (desc.shared_ids) return {{{"ids", desc.id_count}}, DType::U32};
    return {{{"members", desc.members}, {"ids", desc.id_count}}, DType::U32};
}
ViewShape out_view(const GatherDesc& desc) {
    return {{{"members", desc.members}, {"ids", desc.id_count}, {"columns", desc.columns}}, DType::U32};
}
ViewShape status_view(const GatherDesc& /*desc*/) { return {{{"1", 1}}, DType::U32}; }

std::vector<Knob<GatherConfig>> gather_knobs(const DeviceInfo& /*info*/, const GatherDesc& /*desc*/) {
    return {{"workgroup_size", &GatherConfig::workgroup_size, workgroup_sizes()},
            {"loads_per_invocation", &GatherConfig::loads_per_invocation, {1, 2, 4, 8}},
            {"elements_per_load", &GatherConfig::elements_per_load, {1, kQuad}}};
}

Result<void> legal_gather(const DeviceInfo& /*info*/, const GatherDesc& desc, const GatherConfig& config) {
    return check_quads(config.elements_per_load, desc.columns);
}

GatherConfig gather_heuristic(const DeviceInfo& info, const GatherDesc& desc) {
    const std::uint32_t width = desc.columns % kQuad == 0 ? kQuad : 1;
    const auto [workgroup, loads] =
        streaming_default(info, row_count(desc.members, desc.id_count) * (desc.columns / width));
    return {.workgroup_size = workgroup, .loads_per_invocation = loads, .elements_per_load = width};
}

Result<PipelinesOf<GatherDesc>> build_gather(const Device& device, const GatherDesc& desc) {
    const std::array constants{
        SpecConstant{abi_ga::kSpecWorkgroupSize, desc.config->workgroup_size},
        SpecConstant{abi_ga::kSpecLoadsPerInvocation, desc.config->loads_per_invocation},
    };
    return device.pipeline(desc.config->elements_per_load == 1 ? kernels::kGather : kernels::kGatherQuads, constants);
}

void record_gather(Recorder& recorder, const BindingsOf<GatherDesc>& binding, const GatherDesc& desc) noexcept {
    const std::uint32_t width = desc.config->elements_per_load;
    const std::uint32_t columns = desc.columns / width;
    recorder.dispatch(binding,
                      {
                          .members = desc.members,
                          .table_rows = desc.table_rows,
                          .columns = columns,
                          .id_count = desc.id_count,
                          .table_stride = desc.shared_table ? 0 : desc.table_rows * columns,
                          .ids_stride = desc.shared_ids ? 0 : desc.id_count,
                          .values_stride = desc.id_count * columns,
                      },
                      grid_of(std::uint64_t{desc.members} * desc.id_count * columns,
                              std::uint64_t{desc.config->workgroup_size} * desc.config->loads_per_invocation,
                              kGatherLoadCost * width));
}

}  // namespace

template <>
const Operation<GatherDesc>& operation_of<GatherDesc>() {
    using Desc = GatherDesc;
    using Views = GatherViews;
    static const Operation<Desc> kOperation{
        .name = "gather",
        .fields = {"gather",
                   {extent<&Desc::members>("members"), extent<&Desc::table_rows>("table_rows"),
                    extent<&Desc::columns>("columns"), extent<&Desc::id_count>("ids"),
                    variant<&Desc::shared_table>("shared_table"), variant<&Desc::shared_ids>("shared_ids")}},
        .views = {{"table", ViewRole::Input, &Views::table, &table_view},
                  {"ids", ViewRole::Input, &Views::ids, &ids_view},
                  {"out", ViewRole::Output, &Views::out, &out_view},
                  {"status", ViewRole::InOut, &Views::status, &status_view}},
        .knobs = &gather_knobs,
        .legal = &legal_gather,
        .heuristic = &gather_heuristic,
        .build = &build_gather,
        .record = &record_gather,
    };
    return kOperation;
}
template class Plan<GatherDesc>;

}  // namespace yolk
