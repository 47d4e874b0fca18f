// SPDX-License-Identifier: Apache-2.0
// Device memory: few large blocks per memory type, sub-allocated (docs/adr/0001-own-suballocator.md).
#pragma once

#include <volk.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "device_context.hpp"
#include "range_allocator.hpp"
#include "yolk/result.hpp"

namespace yolk {

/// A VkDeviceMemory, mapped for as long as it lives where the host can see it.
struct MemoryBlock {
    VkDeviceMemory memory = VK_NULL_HANDLE;
    std::byte* mapped = nullptr;
    std::uint32_t type = 0;
    bool dedicated = false;  ///< made for one range, released with it
    bool imported = false;   ///< memory that others have allocated
    RangeAllocator ranges;

    explicit MemoryBlock(std::uint64_t size) : ranges(size) {}
};

/// A piece of a block; plain data, given back with MemoryBlocks::free.
struct MemoryRange {
    MemoryBlock* block = nullptr;
    std::uint64_t offset = 0;
    std::uint64_t size = 0;

    [[nodiscard]] std::byte* mapped() const noexcept {
        return block != nullptr && block->mapped != nullptr ? block->mapped + offset : nullptr;
    }
};

/// Memory of a buffer's own, which is shared with others.
struct SharedAllocation {
    std::uint64_t size = 0;  ///< exactly
    std::uint32_t type = 0;
    const void* chain = nullptr;  ///< of VkMemoryAllocateInfo: what is exported or imported
    bool imported = false;
};

/// Size of the blocks of a heap: 64 MiB, an eighth of the heap where that is less, and never above `max_allocation`.
[[nodiscard]] std::uint64_t memory_block_size(std::uint64_t heap_size, std::uint64_t max_allocation) noexcept;

/// Thread-safe. One empty block per memory type is kept, so that a buffer made and dropped in a loop does not reach the
/// driver.
class MemoryBlocks {
   public:
    explicit MemoryBlocks(const DeviceContext& context);
    ~MemoryBlocks();  ///< all ranges have been freed
    MemoryBlocks(const MemoryBlocks&) = delete;
    MemoryBlocks& operator=(const MemoryBlocks&) = delete;

    /// `label` names the buffer in errors. Errors: no suitable memory type, out of memory (names the request and what
    /// is free in the heap).
    [[nodiscard]] Result<MemoryRange> allocate(const VkMemoryRequirements& needs, MemoryDomain domain,
                                               const std::string& label);
    /// The same as a block of its own, which begins with the range.
    [[nodiscard]] Result<MemoryRange> allocate_shared(const SharedAllocation& shared, const std::string& label);
    void free(const MemoryRange& range) noexcept;

   private:
    /// What one allocation wants, settled before any lock.
    struct Request {
        std::uint64_t size = 0;
        std::uint64_t alignment = 0;
        std::uint32_t type = 0;
        const std::string* label = nullptr;
        const void* chain = nullptr;
        bool imported = false;
    };

    [[nodiscard]] Result<MemoryRange> allocate_locked(const Request& request);
    [[nodiscard]] Result<MemoryBlock*> add_block(const Request& request, std::uint64_t size, bool dedicated);
    /// `native`: what the driver returned, where it was asked.
    [[nodiscard]] Error out_of_memory(const Request& request, const std::string& why,
                                      VkResult native = VK_SUCCESS) const;
    void count_peak() noexcept;
    /// Why `size` bytes cannot be allocated; empty if they may be.
    [[nodiscard]] std::string lacks_room(const Request& request, std::uint64_t size) const;
    void warn_beyond_budget(const Request& request, std::uint64_t size);
    void release(MemoryBlock* block) noexcept;
    void destroy(MemoryBlock& block) noexcept;

    const DeviceContext& context_;
    std::mutex mutex_;
    std::vector<std::unique_ptr<MemoryBlock>> blocks_;
    std::vector<std::uint64_t> heap_used_;  ///< bytes of our blocks, by heap
    std::vector<bool> warned_;              ///< of a budget, by heap
};

}  // namespace yolk
