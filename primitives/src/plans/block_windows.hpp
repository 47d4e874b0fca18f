// SPDX-License-Identifier: Apache-2.0
// How a batch of blocks is cut whose views would pass the device's binding limit (BlockRule, Plan::make_windows).
#pragma once

#include <algorithm>
#include <cstdint>
#include <span>

#include "yolk/device.hpp"
#include "yolk/internal/runtime/buffer.hpp"
#include "yolk/result.hpp"

namespace yolk {

struct BlockWindows {
    std::uint32_t blocks = 0;
    std::uint32_t per_window = 0;  ///< of them; the last window may have fewer

    [[nodiscard]] bool is_one() const noexcept { return per_window >= blocks; }
    [[nodiscard]] std::uint32_t count() const noexcept;
    [[nodiscard]] std::uint32_t first_of(std::uint32_t window) const noexcept { return window * per_window; }
    [[nodiscard]] std::uint32_t blocks_of(std::uint32_t window) const noexcept {
        return std::min(per_window, blocks - first_of(window));
    }
    /// A window's part of a view of `bytes_per_block` each; empty of an empty one.
    [[nodiscard]] BufferView of(const BufferView& view, std::uint32_t window, std::uint64_t bytes_per_block) const;
};

/// `aligned`: bytes per block of the views whose windows begin where a view may begin; `other`: the most of those that
/// need not.
/// Error (BadInput): so few blocks fit that no window can begin there (odd n above 724 at the floor's limit), with the
/// plan's label.
[[nodiscard]] Result<BlockWindows> cut_blocks(const Device& device, std::uint32_t blocks,
                                              std::span<const std::uint64_t> aligned, std::uint64_t other,
                                              const char* plan);

}  // namespace yolk
