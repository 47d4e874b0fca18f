// SPDX-License-Identifier: Apache-2.0
// How rearrange's kernel goes over a description: with as few dimensions as say the same.
#pragma once

#include <array>
#include <cstdint>

#include "yolk/rearrange.hpp"

namespace yolk {

/// As the kernel takes it; strides and start are modulo 2^32.
struct RearrangeStep {
    std::uint32_t extent = 1;
    std::uint32_t source_extent = 1;
    std::uint32_t start = 0;
    std::uint32_t step = 1;
    std::uint32_t stride = 0;
    bool is_checked = false;  ///< it may leave the source; if not, it starts at 0 by steps of 1
};

/// Dimension 0 is the innermost. What repeats, lies one after the other, or never leaves the source is merged.
struct RearrangeLayout {
    std::array<RearrangeStep, kRearrangeDimensions> steps{};
    std::uint32_t rank = 1;
    bool has_outer = false;          ///< the members, where they could not be merged
    std::uint32_t outer_stride = 0;  ///< of the source, from member to member
    std::uint32_t first = 0;         ///< of the source, where all indices are 0
};

/// Of a description that check_rearrange admits, and whose output has elements.
[[nodiscard]] RearrangeLayout layout_of(const RearrangeDesc& desc);
/// Whether rows of the output are vectors of four.
[[nodiscard]] bool rows_are_quads(const RearrangeLayout& layout) noexcept;
/// Whether those are vectors of four of the source as well.
[[nodiscard]] bool sources_are_quads(const RearrangeLayout& layout) noexcept;
/// Whether the output is matrices of the source, transposed: its dimension 1 goes along the source's rows, and its rows
/// go across them.
[[nodiscard]] bool are_transposed(const RearrangeLayout& layout) noexcept;

}  // namespace yolk
