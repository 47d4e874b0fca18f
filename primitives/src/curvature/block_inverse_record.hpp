// SPDX-License-Identifier: Apache-2.0
// The dispatches of block_inverse, in their order.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "block_inverse_layout.hpp"
#include "yolk/block_inverse.hpp"
#include "yolk/internal/abi/block_inverse.h"
#include "yolk/internal/runtime/recorder.hpp"

namespace yolk {

/// A kernel of the family (shaders/block_inverse/block_inverse_<pass>.comp).
enum class BlockInversePass : std::uint8_t {
    Prepare,
    Registers,
    Begin,
    Panel,
    Forward,
    Judge,
    Back,
    Backward,
    Pivoted,
    Check,
    Verdict,
    Finish,
    Residual,
    Report,
};
inline constexpr std::size_t kBlockInversePasses = 14;

/// Of one window, by pass; those of other styles are empty.
using BlockInverseBindings = std::array<BindingOf<abi::block_inverse::Params>, kBlockInversePasses>;

struct BlockInverseWindow {
    std::size_t index = 0;
    std::uint32_t first_block = 0;
    std::uint32_t blocks = 0;
    std::uint32_t offset = 0;  ///< of the first block in its views, in elements
};

/// One dispatch. Each stands behind a barrier.
struct BlockInversePiece {
    std::size_t window = 0;
    BlockInversePass pass = BlockInversePass::Prepare;
    abi::block_inverse::Params params{};
    LinearGrid grid{};
};

/// All dispatches of a window.
void add_pieces(std::vector<BlockInversePiece>& pieces, const BlockInverseDesc& desc, const BlockInverseConfig& config,
                const BlockInverseSteps& steps, const BlockInverseWindow& window);

}  // namespace yolk
