// SPDX-License-Identifier: Apache-2.0
// Ranges of an address space of fixed size: what a memory block is divided by. Pure; knows nothing of Vulkan.
#pragma once

#include <cstdint>
#include <map>
#include <optional>

namespace yolk {

/// First fit by address; freed ranges are merged with free neighbours. First fit keeps the high end of a block free, so
/// a block that many short-lived buffers passed through can still hold a large one. Not thread-safe.
class RangeAllocator {
   public:
    explicit RangeAllocator(std::uint64_t size);

    /// Offset of `size` (at least 1) units, a multiple of `alignment` (a power of two); nothing where no free range
    /// holds them.
    [[nodiscard]] std::optional<std::uint64_t> allocate(std::uint64_t size, std::uint64_t alignment);
    /// `offset` came from allocate and was not freed since.
    void free(std::uint64_t offset);

    [[nodiscard]] std::uint64_t size() const noexcept { return size_; }
    [[nodiscard]] std::uint64_t free_size() const noexcept { return free_size_; }
    [[nodiscard]] std::uint64_t largest_free() const noexcept;
    [[nodiscard]] bool empty() const noexcept { return used_.empty(); }

   private:
    // Offset -> size. Invariants: the two maps tile [0, size_) without overlap; no two free ranges touch.
    std::map<std::uint64_t, std::uint64_t> free_;
    std::map<std::uint64_t, std::uint64_t> used_;
    std::uint64_t size_;
    std::uint64_t free_size_;
};

}  // namespace yolk
