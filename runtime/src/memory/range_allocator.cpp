// SPDX-License-Identifier: Apache-2.0
#include "range_allocator.hpp"

#include <algorithm>

#include "yolk/internal/core/check.hpp"

namespace yolk {

RangeAllocator::RangeAllocator(std::uint64_t size) : size_(size), free_size_(size) {
    if (size > 0) free_.emplace(0, size);
}

std::optional<std::uint64_t> RangeAllocator::allocate(std::uint64_t size, std::uint64_t alignment) {
    YOLK_CHECK(size > 0 && alignment > 0 && (alignment & (alignment - 1)) == 0);
    for (auto range = free_.begin(); range != free_.end(); ++range) {
        const std::uint64_t begin = range->first;
        const std::uint64_t length = range->second;
        // Bytes skipped to reach the alignment. They stay free: they are the neighbour of whoever comes or goes next.
        const std::uint64_t skipped = (alignment - (begin & (alignment - 1))) & (alignment - 1);
        if (length < size || length - size < skipped) continue;
        const std::uint64_t offset = begin + skipped;
        const std::uint64_t rest = length - skipped - size;
        if (skipped > 0) {
            range->second = skipped;
        } else {
            free_.erase(range);
        }
        if (rest > 0) free_.emplace(offset + size, rest);
        used_.emplace(offset, size);
        free_size_ -= size;
        return offset;
    }
    return std::nullopt;
}

void RangeAllocator::free(std::uint64_t offset) {
    const auto found = used_.find(offset);
    YOLK_CHECK(found != used_.end());
    std::uint64_t begin = offset;
    std::uint64_t length = found->second;
    used_.erase(found);
    free_size_ += length;
    auto next = free_.lower_bound(begin);
    if (next != free_.end() && begin + length == next->first) {
        length += next->second;
        next = free_.erase(next);
    }
    if (next != free_.begin()) {
        const auto previous = std::prev(next);
        if (previous->first + previous->second == begin) {
            previous->second += length;
            return;
        }
    }
    free_.emplace_hint(next, begin, length);
}

std::uint64_t RangeAllocator::largest_free() const noexcept {
    std::uint64_t largest = 0;
    for (const auto& [offset, length] : free_) largest = std::max(largest, length);
    return largest;
}

}  // namespace yolk
