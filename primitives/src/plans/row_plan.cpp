// SPDX-License-Identifier: Apache-2.0
#include "row_plan.hpp"

#include "plan_checks.hpp"
#include "yolk/internal/core/shape.hpp"
#include "yolk/internal/runtime/loop_budget.hpp"

namespace yolk {
namespace {

constexpr std::uint32_t kMaxRowsByGroup = 8;     // 32 invocations each
constexpr std::uint32_t kChains = 32;            // of a sum (rows.glsl)
constexpr std::uint32_t kMaxLanes = 256;         // of a workgroup
constexpr std::uint64_t kBusyLanes = 1U << 16U;  // a large GPU runs about as many at once
constexpr std::uint32_t kLongRow = 1U << 16U;    // columns
// On an H200 the sums of 262,144 rows of 8 take 14 us by an invocation for each and 82 by 32, two rows to a workgroup;
// softmax of them 33 and 102. Of 32 columns sums take 44 us by an invocation, 82 by 32, with eight rows to a workgroup
// 39; of 256 columns 279 with two rows and 230 with eight.
constexpr std::uint32_t kTinyRow = 8;     // columns that one invocation takes on a GPU
constexpr std::uint32_t kShortRow = 256;  // columns of rows that share a workgroup eight by eight

}  // namespace

Result<void> check_row_config(const RowConfig& config) {
    if (config.row_per_invocation != 0) {
        if (config.lanes_per_row == kChains) return {};
        return bad_input("lanes_per_row is {}; with row_per_invocation 1 it must be {}.", config.lanes_per_row,
                         kChains);
    }
    if (config.rows_per_workgroup > kMaxRowsByGroup) {
        return bad_input("rows_per_workgroup is {}; with row_per_invocation 0 it must be 1, 2, 4 or 8.",
                         config.rows_per_workgroup);
    }
    if (row_workgroup_size(config) <= kMaxLanes) return {};
    return bad_input("rows_per_workgroup is {} and lanes_per_row {}; their product may be at most {}.",
                     config.rows_per_workgroup, config.lanes_per_row, kMaxLanes);
}

RowConfig default_row_config(const DeviceInfo& info) noexcept {
    if (info.kind == DeviceKind::Cpu) return {.row_per_invocation = 1, .rows_per_workgroup = 32};
    return {};
}

RowConfig heuristic_row_config(const DeviceInfo& info, std::uint64_t rows, std::uint32_t columns) noexcept {
    if (info.kind == DeviceKind::Cpu) return columns > kLongRow ? RowConfig{} : default_row_config(info);
    RowConfig config = default_row_config(info);
    if (columns <= kTinyRow && rows >= kBusyLanes) return {.row_per_invocation = 1, .rows_per_workgroup = 64};
    if (columns <= kShortRow && rows * config.lanes_per_row >= kBusyLanes) config.rows_per_workgroup = kMaxRowsByGroup;
    // Four elements at least are left for each lane.
    while (config.lanes_per_row < kMaxLanes && rows * config.lanes_per_row < kBusyLanes &&
           columns >= 8 * config.lanes_per_row) {
        config.lanes_per_row *= 2;
        config.rows_per_workgroup = 1;
    }
    return config;
}

std::vector<Knob<RowConfig>> row_knobs(bool of_programs) {
    const auto allowed = [&](std::uint32_t fallback, std::uint32_t other) {
        return of_programs ? std::vector{fallback, other} : std::vector{fallback};
    };
    return {{"row_per_invocation", &RowConfig::row_per_invocation, {0, 1}},
            {"rows_per_workgroup", &RowConfig::rows_per_workgroup, {1, 2, 4, 8, 16, 32, 64, 128, 256}},
            {"lanes_per_row", &RowConfig::lanes_per_row, {32, 64, 128, 256}},
            {"texel_input", &RowConfig::texel_input, allowed(0, 1)},
            {"elements_per_load", &RowConfig::elements_per_load, allowed(1, 4)}};
}

Result<void> check_row_loops(const Device& device, const char* plan, std::uint32_t columns, const RowPasses& passes,
                             const RowConfig& config) {
    const std::uint32_t lanes = config.lanes_per_row;
    const std::uint64_t by_lanes = loop_cost(ceil_div(columns, lanes));
    const std::uint64_t write = config.row_per_invocation != 0 ? loop_cost(ceil_div(columns, 8U)) : by_lanes;
    const std::uint64_t cost = passes.reductions * by_lanes + passes.writes * write;
    YOLK_TRY(const std::uint64_t budget, loop_budget(device));
    if (cost <= budget) return {};
    return unsupported(
        "The loops of one invocation may cost {} on this device; {} needs {} for rows of {} columns with "
        "row_per_invocation {}. Use shorter rows{}.",
        budget, plan, cost, columns, config.row_per_invocation,
        config.row_per_invocation != 0 && passes.writes != 0 ? ", or row_per_invocation 0" : "");
}

ViewShape row_vector_view(RowVector vector, std::uint32_t members, std::uint32_t columns) {
    if (vector == RowVector::PerMember) return {{{"members", members}, {"columns", columns}}};
    return {.extents = {{"columns", columns}}, .used = vector != RowVector::None};
}

LinearGrid row_grid(std::uint64_t rows, std::uint64_t columns, std::uint64_t cost_per_element,
                    const RowConfig& config) noexcept {
    return grid_of(rows, config.rows_per_workgroup, columns * cost_per_element);
}

}  // namespace yolk
