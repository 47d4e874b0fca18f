// SPDX-License-Identifier: Apache-2.0
#include "block_windows.hpp"

#include <fmt/format.h>

#include <limits>
#include <numeric>
#include <string>

#include "yolk/internal/core/shape.hpp"

namespace yolk {
namespace {

/// More is a mistake: of the largest blocks 128 GiB at the floor's limit.
constexpr std::uint64_t kMostWindows = 1024;

}  // namespace

std::uint32_t BlockWindows::count() const noexcept {
    return per_window == 0 ? 0 : static_cast<std::uint32_t>(ceil_div<std::uint64_t>(blocks, per_window));
}

BufferView BlockWindows::of(const BufferView& view, std::uint32_t window, std::uint64_t bytes_per_block) const {
    if (view.empty() || bytes_per_block == 0) return {};
    return view.part(first_of(window) * bytes_per_block, blocks_of(window) * bytes_per_block);
}

Result<BlockWindows> cut_blocks(const Device& device, std::uint32_t blocks, std::span<const std::uint64_t> aligned,
                                std::uint64_t other, const char* plan) {
    const std::uint64_t limit = device.info().limits.max_storage_buffer_range;
    std::uint64_t largest = std::max<std::uint64_t>(other, 1);
    for (const std::uint64_t bytes : aligned) largest = std::max(largest, bytes);
    // One block is more than a binding: who plans it says so.
    if (blocks <= 1 || largest > limit || largest * blocks <= limit)
        return BlockWindows{.blocks = blocks, .per_window = blocks};
    std::uint64_t step = 1;
    for (const std::uint64_t bytes : aligned) {
        if (bytes != 0) step = std::lcm(step, kViewAlignment / std::gcd(bytes, kViewAlignment));
    }
    const std::uint64_t per_window = limit / largest / step * step;
    if (per_window != 0 && ceil_div<std::uint64_t>(blocks, per_window) > kMostWindows) {
        return Error{ErrorKind::BadInput, fmt::format("The views of {} take {} bindings of [{}], which holds {} of the "
                                                      "{} blocks in one; at most {} are allowed. Use several plans.",
                                                      plan, ceil_div<std::uint64_t>(blocks, per_window),
                                                      device.info().name, per_window, blocks, kMostWindows)};
    }
    if (per_window != 0) return BlockWindows{.blocks = blocks, .per_window = static_cast<std::uint32_t>(per_window)};
    return Error{
        ErrorKind::BadInput,
        fmt::format(
            "The views of {} have {} bytes per block; a binding of [{}] takes at most {}, and {} blocks must fit for "
            "the next to begin at a multiple of {} bytes. Use n that are multiples of two, or several plans.",
            plan, largest, device.info().name, limit, step, kViewAlignment)};
}

}  // namespace yolk
