// SPDX-License-Identifier: Apache-2.0
#include "block_inverse_record.hpp"

#include <algorithm>

#include "plan_checks.hpp"
#include "yolk/internal/core/shape.hpp"

namespace yolk {

namespace {

namespace abi_bi = abi::block_inverse;

// About what one element costs in multiply-adds, loads included.
constexpr std::uint64_t kBlockLoadCost = 16;
constexpr std::uint64_t kPanelCost = 1024;
constexpr std::uint64_t kTileCost = 2048;
// Retries have invocations for one block in so many.
constexpr std::uint32_t kRetriedShare = 64;
constexpr std::uint32_t kResidualColumns = 8;

/// Adds the dispatches of one window.
class Pieces {
   public:
    Pieces(std::vector<BlockInversePiece>& pieces, const BlockInverseDesc& desc, const BlockInverseConfig& config,
           const BlockInverseWindow& window)
        : pieces_(pieces), config_(config), window_(window.index) {
        params_.n = desc.n;
        params_.padded_n = static_cast<std::uint32_t>(round_up(desc.n, abi_bi::kPanel));
        params_.blocks = window.blocks;
        params_.first_block = window.first_block;
        params_.in_offset = window.offset;
        params_.out_offset = window.offset;
        params_.symmetric = desc.mode == InverseMode::Symmetric ? 1 : 0;
        params_.damping_per_block = desc.damping_per_block ? 1 : 0;
        params_.retries = desc.mode == InverseMode::Symmetric ? 0 : desc.retries;
        params_.damping = desc.damping;
        params_.inverse_n = 1.0F / static_cast<float>(desc.n);
        params_.tolerance = static_cast<float>(desc.n + 16) * 0x1p-26F;
    }

    void set_attempt(std::uint32_t attempt) { params_.attempt = attempt; }
    [[nodiscard]] const abi_bi::Params& params() const noexcept { return params_; }

    /// `per_block` invocations for each block, each of which costs about `cost`; `per_block` 0: a workgroup.
    void add(BlockInversePass pass, std::uint64_t per_block, std::uint64_t cost, std::uint32_t first = 0,
             std::uint32_t end = 0) {
        abi_bi::Params params = params_;
        params.first = first;
        params.end = end;
        const std::uint64_t blocks =
            ceil_div(params.blocks, params.attempt == 0 || pass == BlockInversePass::Prepare ? 1 : kRetriedShare);
        const LinearGrid grid = per_block == 0 ? LinearGrid{.groups = params.blocks, .cost_per_group = cost}
                                               : grid_of(blocks * per_block, config_.workgroup_size, cost);
        params.invocations = static_cast<std::uint32_t>(grid.groups * config_.workgroup_size);
        pieces_.push_back({.window = window_, .pass = pass, .params = params, .grid = grid});
    }
    /// The same over [0, count), at most `most` at once.
    void add_ranges(BlockInversePass pass, std::uint64_t per_block, std::uint64_t cost_of_one, std::uint32_t count,
                    std::uint32_t most) {
        for (std::uint32_t first = 0; first < count; first += most) {
            const std::uint32_t end = first + std::min(most, count - first);
            add(pass, per_block, cost_of_one * (end - first), first, end);
        }
    }

    void add_tiles_attempt();
    void add_pivoted_attempt(const BlockInverseSteps& steps);

   private:
    std::vector<BlockInversePiece>& pieces_;
    const BlockInverseConfig& config_;
    std::size_t window_;
    abi_bi::Params params_{};
};

void Pieces::add_tiles_attempt() {
    const std::uint32_t padded = params_.padded_n;
    const std::uint64_t tiles = padded / abi_bi::kPanel;
    const std::uint64_t row_cost = kBlockLoadCost * padded;
    const std::uint64_t pieces = abi_bi::kPanel / config_.tile_rows;  // of a tile
    const std::uint64_t piece_cost = kTileCost / pieces;
    // Of an invocation of the kernel that kernels_of chooses.
    const std::uint32_t lines = config_.tile_rows < abi_bi::kPanel ? 1 : 2;
    add(BlockInversePass::Begin, padded, row_cost);
    for (std::uint32_t first = 0; first < padded; first += abi_bi::kPanel) {
        add(BlockInversePass::Panel, padded / lines, kPanelCost, first);
        const std::uint64_t below = (padded - first) / abi_bi::kPanel - 1;
        // As the kernel counts its tiles.
        const std::uint64_t solved = below * (first / abi_bi::kPanel + 1);
        const std::uint64_t forward = solved + (below + 1) / 2 * (below + 1);
        if (below > 0) add(BlockInversePass::Forward, forward * pieces, piece_cost, first);
    }
    add(BlockInversePass::Judge, padded, row_cost);
    for (std::uint32_t end = padded; end > 0; end -= abi_bi::kPanel) {
        const std::uint32_t first = end - abi_bi::kPanel;
        add(BlockInversePass::Back, padded, kPanelCost, first);
        const std::uint64_t backward = first / abi_bi::kPanel * tiles;
        if (first > 0) add(BlockInversePass::Backward, backward * pieces, piece_cost, first);
    }
    add(BlockInversePass::Check, params_.n, row_cost);
    add(BlockInversePass::Verdict, 1, row_cost);
}

void Pieces::add_pivoted_attempt(const BlockInverseSteps& steps) {
    const std::uint64_t n = params_.n;
    add(BlockInversePass::Begin, params_.padded_n, kBlockLoadCost * n);
    add_ranges(BlockInversePass::Pivoted, 0, kBlockLoadCost * n * n, params_.n, steps.pivots);
    add(BlockInversePass::Check, n, kBlockLoadCost * n);
    add(BlockInversePass::Verdict, 1, kBlockLoadCost * n);
}

}  // namespace

void add_pieces(std::vector<BlockInversePiece>& pieces, const BlockInverseDesc& desc, const BlockInverseConfig& config,
                const BlockInverseSteps& steps, const BlockInverseWindow& window) {
    Pieces add(pieces, desc, config, window);
    const std::uint64_t n = desc.n;
    const bool symmetric = desc.mode == InverseMode::Symmetric;
    add.add_ranges(BlockInversePass::Prepare, 1, kBlockLoadCost * n, desc.n, steps.prepare_rows);
    if (symmetric) {
        add.set_attempt(1);
        add.add_ranges(BlockInversePass::Prepare, 1, kBlockLoadCost * n, desc.n, steps.prepare_rows);
        add.set_attempt(0);
    }
    if (config.style == static_cast<std::uint32_t>(BlockInverseStyle::Registers)) {
        add.add(BlockInversePass::Registers, 1, 2 * n * n * n + kBlockLoadCost * n * n);
    } else {
        for (std::uint32_t attempt = 0; attempt <= add.params().retries; ++attempt) {
            add.set_attempt(attempt);
            if (symmetric) {
                add.add_pivoted_attempt(steps);
            } else {
                add.add_tiles_attempt();
            }
        }
        add.set_attempt(0);
        add.add(BlockInversePass::Finish, n, kBlockLoadCost * n);
    }
    const std::uint64_t residual_rows = config.tile_rows;
    add.add_ranges(BlockInversePass::Residual, ceil_div(n, residual_rows),
                   n * (kBlockLoadCost * (residual_rows + kResidualColumns) * 3 / 4 + residual_rows * 4),
                   ceil_div(desc.n, kResidualColumns), steps.residual_groups);
    add.add(BlockInversePass::Report, 1, kBlockLoadCost * n);
}

}  // namespace yolk
