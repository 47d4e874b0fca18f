// SPDX-License-Identifier: Apache-2.0
// Batches of blocks whose views would pass the device's binding limit: the same plan several times, each for a window
// of blocks, one after the other with one scratch. A block's bits do not depend on the window it is in.
#pragma once

#include <algorithm>
#include <cstdint>
#include <initializer_list>
#include <utility>
#include <vector>

#include "yolk/core/result.hpp"
#include "yolk/runtime/buffer.hpp"
#include "yolk/runtime/device.hpp"
#include "yolk/runtime/recorder.hpp"

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

/// `aligned`: bytes per block of the views whose windows begin where a view may begin; `others` of those that need not.
/// Error (BadInput): so few blocks fit that no window can begin there (odd n above 724 at the floor's limit), with the
/// plan's label.
[[nodiscard]] Result<BlockWindows> cut_blocks(const Device& device, std::uint32_t blocks,
                                              std::initializer_list<std::uint64_t> aligned,
                                              std::initializer_list<std::uint64_t> others, const char* plan);

/// Words per block (status, residual): a window's are written to an aligned piece of scratch and copied from there, for
/// 64 blocks are what it takes for words to begin where a view may.
struct WordCopy {
    BufferView from;
    BufferView to;
};

/// Window after window. Bound is a primitive's bound plan; `record` records one.
template <class Bound>
struct BoundWindow {
    Bound bound;
    std::vector<WordCopy> copies{};
};

template <class Bound, class Record>
void record_windows(Recorder& recorder, const std::vector<BoundWindow<Bound>>& windows, Record&& record) noexcept {
    bool is_first = true;
    for (const BoundWindow<Bound>& window : windows) {
        if (!is_first) recorder.barrier(Barrier::ComputeToCompute);
        is_first = false;
        record(window.bound);
        if (window.copies.empty()) continue;
        recorder.barrier(Barrier::ComputeToTransfer);
        for (const WordCopy& copy : window.copies) recorder.copy(copy.from, copy.to);
        recorder.barrier(Barrier::TransferToCompute);
    }
}

}  // namespace yolk
