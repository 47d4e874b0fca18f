// SPDX-License-Identifier: Apache-2.0
#include "block_windows.hpp"

#include <fmt/format.h>

#include <limits>
#include <numeric>
#include <string>

#include "yolk/core/shape.hpp"

namespace yolk {

std::uint32_t BlockWindows::count() const noexcept {
    return per_window == 0 ? 0 : static_cast<std::uint32_t>(ceil_div(blocks, per_window));
}

BufferView BlockWindows::of(const BufferView& view, std::uint32_t window, std::uint64_t bytes_per_block) const {
    if (view.empty() || bytes_per_block == 0) return {};
    return {*view.buffer, view.offset_bytes + first_of(window) * bytes_per_block, blocks_of(window) * bytes_per_block};
}

Result<BlockWindows> cut_blocks(const Device& device, std::uint32_t blocks,
                                std::initializer_list<std::uint64_t> aligned,
                                std::initializer_list<std::uint64_t> others, const char* plan) {
    const std::uint64_t limit = device.info().limits.max_storage_buffer_range;
    const std::uint64_t largest = std::max({std::uint64_t{1}, std::max(aligned), std::max(others)});
    if (largest * blocks <= limit) return BlockWindows{.blocks = blocks, .per_window = blocks};
    // One block is more than a binding: who plans it says so.
    if (largest > limit || blocks == 1) return BlockWindows{.blocks = blocks, .per_window = blocks};
    std::uint64_t step = 1;
    for (const std::uint64_t bytes : aligned) {
        if (bytes != 0) step = std::lcm(step, kViewAlignment / std::gcd(bytes, kViewAlignment));
    }
    const std::uint64_t per_window = limit / largest / step * step;
    if (per_window != 0) return BlockWindows{.blocks = blocks, .per_window = static_cast<std::uint32_t>(per_window)};
    return Error{
        ErrorKind::BadInput,
        fmt::format("The views of {} have {} bytes per block; a binding of [{}] takes at most {}, and {} blocks "
                    "must fit for the next to begin at a multiple of {} bytes. Use n that are multiples of two, "
                    "or several plans.",
                    plan, largest, device.info().name, limit, step, kViewAlignment)};
}

Result<void> check_windowed_views(const char* plan, std::initializer_list<WindowedView> inputs,
                                  std::initializer_list<WindowedView> outputs) {
    const auto check = [plan](std::initializer_list<WindowedView> needed,
                              std::vector<BufferView>& views) -> Result<void> {
        for (const WindowedView& need : needed) {
            const std::string what = fmt::format("the {} view of {}", need.name, plan);
            YOLK_TRY_VOID(
                check_view(need.view, need.needed_bytes, std::numeric_limits<std::uint64_t>::max(), what.c_str()));
            views.push_back(need.view);
        }
        return {};
    };
    std::vector<BufferView> read;
    std::vector<BufferView> written;
    YOLK_TRY_VOID(check(inputs, read));
    YOLK_TRY_VOID(check(outputs, written));
    return check_no_overlap(written, read, plan);
}

}  // namespace yolk
