// SPDX-License-Identifier: Apache-2.0
#include "block_inverse_layout.hpp"

#include <algorithm>

#include "plan_checks.hpp"
#include "yolk/internal/runtime/loop_budget.hpp"

namespace yolk {

namespace {

namespace abi_bi = abi::block_inverse;

constexpr std::uint64_t kWord = sizeof(std::uint32_t);
/// More scratch than this is not asked for: windows of so many blocks keep any device busy.
constexpr std::uint64_t kEnoughWorkBytes = std::uint64_t{128} << 20U;
/// Elements that one workgroup sweeps in one dispatch of Symmetric: it cannot be cut by workgroups, and takes .2 s for
/// so many on one CPU core.
constexpr std::uint64_t kMostSwept = std::uint64_t{1} << 24U;

}  // namespace

std::uint32_t BlockInverseLayout::window_blocks(std::uint64_t scratch_size) const noexcept {
    const std::uint64_t each = state_bytes + work_bytes;
    const std::uint64_t spare = scratch_size > 2 * kViewAlignment ? scratch_size - 2 * kViewAlignment : 0;
    std::uint64_t blocks = std::clamp<std::uint64_t>(spare / each, 1, most_blocks);
    while (blocks < most_blocks && scratch_bytes(blocks + 1) <= scratch_size) ++blocks;
    return static_cast<std::uint32_t>(blocks);
}

Result<BlockInverseLayout> lay_out_block_inverse(const Device& device, const BlockInverseDesc& desc,
                                                 const BlockInverseConfig& config) {
    YOLK_TRY_VOID(checked_bytes({desc.blocks, desc.n, desc.n}, kWord, "the in view of [block_inverse]"));
    YOLK_TRY_VOID(check_binding_size(device, kWord * desc.blocks, "the status view of [block_inverse]"));
    BlockInverseLayout layout;
    if (desc.n == 0 || desc.blocks == 0) return layout;
    const std::uint64_t limit = device.info().limits.max_storage_buffer_range;
    layout.padded_n = static_cast<std::uint32_t>(round_up(desc.n, abi_bi::kPanel));
    layout.block_bytes = kWord * desc.n * desc.n;
    layout.state_bytes = kWord * (abi_bi::kStateHeader + 2 * layout.padded_n + abi_bi::kListsPerBlock);
    const bool in_registers = config.style == static_cast<std::uint32_t>(BlockInverseStyle::Registers);
    layout.work_bytes = in_registers ? 0 : kWord * 2 * layout.padded_n * layout.padded_n;
    // Windows of in and out begin where a view may: up to one alignment before the first block.
    std::uint64_t most =
        std::min((limit - kViewAlignment) / layout.block_bytes, (limit - kViewAlignment) / layout.state_bytes);
    if (!in_registers) most = std::min(most, std::min(limit, kEnoughWorkBytes) / layout.work_bytes);
    if (most == 0) {
        return bad_input("A block of {} rows does not fit into a binding of [{}], which takes {} bytes.", desc.n,
                         device.info().name, limit);
    }
    layout.most_blocks = static_cast<std::uint32_t>(std::min<std::uint64_t>(most, desc.blocks));
    return layout;
}

Result<BlockInverseSteps> block_inverse_steps(const Device& device, const BlockInverseDesc& desc,
                                              const BlockInverseConfig& config) {
    YOLK_TRY(const std::uint64_t budget, loop_budget(device));
    const std::uint64_t row = loop_cost(desc.n);
    const std::uint64_t rows = ceil_div(desc.n, config.workgroup_size);
    // A step goes over the rows of an invocation three times, twice over their elements, and over all candidates.
    const std::uint64_t step =
        2 * loop_cost(rows, row) + loop_cost(rows) + loop_cost(2) + 2 * loop_cost(config.workgroup_size);
    const auto within = [&](std::uint64_t before, std::uint64_t inside) {
        const std::uint64_t most = iterations_within(budget > before ? budget - before : 0, inside);
        return static_cast<std::uint32_t>(std::min<std::uint64_t>(most, desc.n));
    };
    const std::uint64_t sweeps = std::max<std::uint64_t>(kMostSwept / (std::uint64_t{desc.n} * desc.n), 1);
    const BlockInverseSteps steps{
        .prepare_rows = within(row + loop_cost(abi_bi::kCounts), row),
        .pivots = static_cast<std::uint32_t>(std::min<std::uint64_t>(within(loop_cost(rows), step), sweeps)),
        .residual_groups = within(0, row)};
    const bool symmetric = desc.mode == InverseMode::Symmetric;
    if (steps.prepare_rows == 0 || steps.residual_groups == 0 || (symmetric && steps.pivots == 0)) {
        return unsupported(
            "The loops of one invocation may cost {} on this device; [block_inverse] needs {} for blocks of {} rows "
            "with workgroup_size {}. Use a larger workgroup_size or smaller blocks.",
            budget, symmetric ? step : row * 2, desc.n, config.workgroup_size);
    }
    return steps;
}

}  // namespace yolk
