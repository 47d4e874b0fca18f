// SPDX-License-Identifier: Apache-2.0
#include "yolk/scatter.hpp"

#include <algorithm>
#include <array>

#include "operation_plan.hpp"
#include "yolk/internal/core/shape.hpp"
#include "yolk/internal/runtime/loop_budget.hpp"
#include "yolk/internal/shaders/catalogue.hpp"

namespace yolk {
namespace {

namespace abi_sc = abi::scatter;

// Three loads and a store that depend on each other, an addition with its flushes.
constexpr std::uint64_t kIdCost = 16;
// By row: a comparison and a bit.
constexpr std::uint64_t kComparisonCost = 4;

// Nothing is written, and no id is looked at.
bool writes_nothing(const ScatterDesc& desc) { return desc.members == 0 || desc.columns == 0 || desc.id_count == 0; }

ViewShape target_view(const ScatterDesc& desc) {
    return {{{"members", desc.members}, {"target_rows", desc.target_rows}, {"columns", desc.columns}}};
}
ViewShape ids_view(const ScatterDesc& desc) {
    if (desc.shared_ids) return {{{"ids", desc.id_count}}, DType::U32};
    return {{{"members", desc.members}, {"ids", desc.id_count}}, DType::U32};
}
ViewShape values_view(const ScatterDesc& desc) {
    if (desc.shared_values) return {{{"ids", desc.id_count}, {"columns", desc.columns}}};
    return {{{"members", desc.members}, {"ids", desc.id_count}, {"columns", desc.columns}}};
}
ViewShape status_view(const ScatterDesc& /*desc*/) { return {{{"1", 1}}, DType::U32}; }

std::vector<Knob<ScatterConfig>> scatter_knobs(const DeviceInfo& /*info*/, const ScatterDesc& /*desc*/) {
    return {{"workgroup_size", &ScatterConfig::workgroup_size, workgroup_sizes()},
            {"by_row", &ScatterConfig::by_row, {0, 1}},
            {"elements_per_load", &ScatterConfig::elements_per_load, {1, kQuad}},
            {"ids_per_dispatch", &ScatterConfig::ids_per_dispatch, {16, 256, 4096, 16384}}};
}

Result<void> legal_scatter(const DeviceInfo& /*info*/, const ScatterDesc& desc, const ScatterConfig& config) {
    if (config.by_row == 1 && (config.elements_per_load != 1 || desc.target_rows == 0))
        return bad_input("by_row is 1, which needs elements_per_load 1 and a target with rows.");
    return check_quads(config.elements_per_load, desc.columns);
}

/// Walking a list of ids, a GPU waits for memory at each, about .7 us. By row it compares a workgroup of them in about
/// .15 us, and has many workgroups of a compute unit under way. An H200 takes 216 us for 1,024 ids into 256 rows of 64
/// columns, by row 7.4.
bool pays_by_row(const DeviceInfo& info, const ScatterDesc& desc) {
    constexpr std::uint32_t kUsualUnits = 64, kLeastIds = 32, kGroupsPerUnit = 4096, kTile = 256;
    const std::uint64_t units = info.limits.compute_units != 0 ? info.limits.compute_units : kUsualUnits;
    const std::uint64_t tiles = ceil_div(desc.columns, kTile);
    return info.kind != DeviceKind::Cpu && desc.id_count >= kLeastIds && desc.target_rows != 0 &&
           std::uint64_t{desc.members} * desc.target_rows * tiles <= kGroupsPerUnit * units;
}

ScatterConfig scatter_heuristic(const DeviceInfo& info, const ScatterDesc& desc) {
    // More ids at once: 7.4 us where a workgroup of 64 takes 10.4.
    if (pays_by_row(info, desc)) return {.workgroup_size = 256, .by_row = 1};
    const bool quads = info.kind == DeviceKind::Cpu && desc.columns % kQuad == 0;
    return {.elements_per_load = quads ? kQuad : 1};
}

/// Ids of a dispatch that loops of `budget` allow.
std::uint64_t ids_within(std::uint64_t budget, const ScatterDesc& desc) {
    if (desc.config->by_row == 0) return iterations_within(budget);
    const std::uint64_t size = desc.config->workgroup_size;
    const std::uint64_t tiles = ceil_div<std::uint64_t>(desc.columns, size);
    if (budget < 2 * tiles + 1) return 0;
    // The loops over words of shared memory; in them each id of a workgroup at most once.
    const std::uint64_t clearing = loop_cost(ceil_div<std::uint64_t>(abi_sc::kMaxRowWords, size));
    const std::uint64_t compared = clearing + loop_cost(abi_sc::kMaxRowWords, 1) + size;
    return size * iterations_within((budget - 1) / tiles - 1, compared);
}

Result<PipelinesOf<ScatterDesc>> build_scatter(const Device& device, const ScatterDesc& desc) {
    // The kernel counts columns even where there are no rows to write them to.
    YOLK_TRY_VOID(binding_bytes(device, {desc.members, std::max(desc.target_rows, 1U), desc.columns},
                                "the target view of [scatter]"));
    YOLK_TRY(const std::uint64_t budget, loop_budget(device));
    ScatterDesc::Pipelines made;
    made.chunk =
        static_cast<std::uint32_t>(std::min<std::uint64_t>(desc.config->ids_per_dispatch, ids_within(budget, desc)));
    if (made.chunk == 0)
        return bad_input("[scatter] of {} columns needs more loop iterations than the device allows.", desc.columns);
    const std::array constants{
        SpecConstant{abi_sc::kSpecWorkgroupSize, desc.config->workgroup_size},
        SpecConstant{abi_sc::kSpecMode, static_cast<std::uint32_t>(desc.mode)},
    };
    const auto& by_column = desc.config->elements_per_load == 1 ? kernels::kScatter : kernels::kScatterQuads;
    const auto& kernel = desc.config->by_row == 1 ? kernels::kScatterByRow : by_column;
    YOLK_TRY(made.pipeline, device.pipeline(kernel, constants));
    return made;
}

Result<BindingsOf<ScatterDesc>> bind_scatter(const Device& device, const ScatterDesc& desc,
                                             const PipelinesOf<ScatterDesc>& made, const ScatterViews& views,
                                             const BufferView& /*scratch*/) {
    // A binding may not be empty; of a target without rows nothing is read or written.
    const BufferView& target = desc.target_rows == 0 ? views.values : views.target;
    YOLK_TRY(auto binding, device.bind(made.pipeline, std::array{target, views.ids, views.values, views.status}));
    return ScatterDesc::Bindings{.chunk = made.chunk, .binding = std::move(binding)};
}

void record_scatter(Recorder& recorder, const BindingsOf<ScatterDesc>& bindings, const ScatterDesc& desc) noexcept {
    const std::uint32_t width = desc.config->elements_per_load;
    const std::uint32_t columns = desc.columns / width;
    abi_sc::Params params{
        .members = desc.members,
        .target_rows = desc.target_rows,
        .columns = columns,
        .first_id = 0,
        .end_id = 0,
        .target_stride = desc.target_rows * columns,
        .ids_stride = desc.shared_ids ? 0 : desc.id_count,
        .values_stride = desc.shared_values ? 0 : desc.id_count * columns,
    };
    const std::uint64_t ids = std::min(bindings.chunk, desc.id_count);
    const LinearGrid grid =
        desc.config->by_row == 1
            ? grid_of(std::uint64_t{desc.members} * desc.target_rows, 1,
                      kComparisonCost * ids * ceil_div(columns, desc.config->workgroup_size))
            : grid_of(std::uint64_t{desc.members} * columns, desc.config->workgroup_size, kIdCost * width * ids);
    while (params.first_id < desc.id_count) {
        if (params.first_id != 0) recorder.barrier(Barrier::ComputeToCompute);
        params.end_id = params.first_id + std::min(bindings.chunk, desc.id_count - params.first_id);
        recorder.dispatch(bindings.binding, params, grid);
        params.first_id = params.end_id;
    }
}

}  // namespace

template <>
const Operation<ScatterDesc>& operation_of<ScatterDesc>() {
    using Desc = ScatterDesc;
    using Views = ScatterViews;
    static const Operation<Desc> kOperation{
        .name = "scatter",
        .fields = {"scatter",
                   {extent<&Desc::members>("members"), extent<&Desc::target_rows>("target_rows"),
                    extent<&Desc::columns>("columns"), extent<&Desc::id_count>("ids"), variant<&Desc::mode>("mode"),
                    variant<&Desc::shared_ids>("shared_ids"), variant<&Desc::shared_values>("shared_values")}},
        .views = {{"target", ViewRole::InOut, &Views::target, &target_view},
                  {"ids", ViewRole::Input, &Views::ids, &ids_view},
                  {"values", ViewRole::Input, &Views::values, &values_view},
                  {"status", ViewRole::InOut, &Views::status, &status_view}},
        .knobs = &scatter_knobs,
        .legal = &legal_scatter,
        .heuristic = &scatter_heuristic,
        .is_empty = &writes_nothing,
        .build = &build_scatter,
        .bind = &bind_scatter,
        .record = &record_scatter,
    };
    return kOperation;
}
template class Plan<ScatterDesc>;

}  // namespace yolk
