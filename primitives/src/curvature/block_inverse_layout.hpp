// SPDX-License-Identifier: Apache-2.0
// What a window of blocks needs of scratch, and how long the loops of block_inverse's kernels may be.
#pragma once

#include <cstdint>

#include "yolk/block_inverse.hpp"
#include "yolk/device.hpp"
#include "yolk/internal/abi/block_inverse.h"
#include "yolk/internal/core/shape.hpp"
#include "yolk/result.hpp"

namespace yolk {

/// Sizes of one plan; all in bytes unless said otherwise.
struct BlockInverseLayout {
    std::uint32_t padded_n = 0;  ///< a multiple of the panel
    std::uint64_t block_bytes = 0;
    std::uint64_t state_bytes = 0;  ///< per block, its place in the lists of attempts included
    std::uint64_t work_bytes = 0;   ///< per block; 0 where all is in registers
    std::uint32_t most_blocks = 0;  ///< of one window

    [[nodiscard]] std::uint64_t all_state_bytes(std::uint64_t blocks) const noexcept {
        return blocks * state_bytes + sizeof(std::uint32_t) * abi::block_inverse::kCounts;
    }
    /// For a window of so many blocks: the state, then the work on its own alignment.
    [[nodiscard]] std::uint64_t work_offset(std::uint64_t blocks) const noexcept {
        return round_up(all_state_bytes(blocks), kViewAlignment);
    }
    [[nodiscard]] std::uint64_t scratch_bytes(std::uint64_t blocks) const noexcept {
        return work_offset(blocks) + blocks * work_bytes;
    }
    /// The most blocks that a window with so much scratch may have; at least 1 is assumed to fit.
    [[nodiscard]] std::uint32_t window_blocks(std::uint64_t scratch_size) const noexcept;
};

/// Rows, steps or column groups that one dispatch may take, by the loops in the kernels' heads.
struct BlockInverseSteps {
    std::uint32_t prepare_rows = 0;
    std::uint32_t pivots = 0;  ///< Symmetric
    std::uint32_t residual_groups = 0;
};

[[nodiscard]] Result<BlockInverseLayout> lay_out_block_inverse(const Device& device, const BlockInverseDesc& desc,
                                                               const BlockInverseConfig& config);
/// Unsupported where not even one row, step or group fits.
[[nodiscard]] Result<BlockInverseSteps> block_inverse_steps(const Device& device, const BlockInverseDesc& desc,
                                                            const BlockInverseConfig& config);

}  // namespace yolk
