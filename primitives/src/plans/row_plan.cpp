// SPDX-License-Identifier: Apache-2.0
#include "row_plan.hpp"

#include "plan_checks.hpp"
#include "yolk/core/shape.hpp"
#include "yolk/runtime/loop_budget.hpp"

namespace yolk {

namespace {

constexpr std::uint32_t kMaxRowsByGroup = 8;   // workgroups of 32 invocations each
constexpr std::uint32_t kLongRow = 1U << 16U;  // columns

}  // namespace

Result<void> check_rows_per_workgroup(const RowConfig& config) {
    if (config.row_per_invocation != 0 || config.rows_per_workgroup <= kMaxRowsByGroup) return {};
    return bad_input("rows_per_workgroup is {}; with row_per_invocation 0 it must be 1, 2, 4 or 8.",
                     config.rows_per_workgroup);
}

RowConfig default_row_config(const DeviceInfo& info) noexcept {
    if (info.kind == DeviceKind::Cpu) return {.row_per_invocation = 1, .rows_per_workgroup = 32};
    return {};
}

RowConfig heuristic_row_config(const DeviceInfo& info, std::uint32_t columns) noexcept {
    return columns > kLongRow ? RowConfig{} : default_row_config(info);
}

std::vector<Knob<RowConfig>> row_knobs() {
    return {{"row_per_invocation", &RowConfig::row_per_invocation, {0, 1}},
            {"rows_per_workgroup", &RowConfig::rows_per_workgroup, {1, 2, 4, 8, 16, 32, 64, 128, 256}}};
}

Result<void> check_row_loops(const Device& device, const char* plan, std::uint32_t columns, const RowPasses& passes,
                             const RowConfig& config) {
    const std::uint64_t by_32 = loop_cost(ceil_div(columns, 32U));
    const std::uint64_t write = config.row_per_invocation != 0 ? loop_cost(ceil_div(columns, 8U)) : by_32;
    const std::uint64_t cost = passes.reductions * by_32 + passes.writes * write;
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
