// SPDX-License-Identifier: Apache-2.0
#include "memory_blocks.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "host_room.hpp"
#include "vk_result.hpp"
#include "yolk/internal/core/check.hpp"
#include "yolk/internal/core/shape.hpp"
#include "yolk/internal/runtime/buffer.hpp"
#include "yolk/log.hpp"

namespace yolk {
namespace {

constexpr std::uint64_t kBlockSize = std::uint64_t{64} << 20U;

}  // namespace

std::uint64_t memory_block_size(std::uint64_t heap_size, std::uint64_t max_allocation) noexcept {
    return std::max<std::uint64_t>(std::min({kBlockSize, heap_size / 8, max_allocation}), kViewAlignment);
}

MemoryBlocks::MemoryBlocks(const DeviceContext& context)
    : context_(context), heap_used_(context.info.heaps.size(), 0), warned_(context.info.heaps.size(), false) {}

MemoryBlocks::~MemoryBlocks() {
    for (const auto& block : blocks_) destroy(*block);
}

Result<MemoryRange> MemoryBlocks::allocate(const VkMemoryRequirements& needs, MemoryDomain domain,
                                           const std::string& label) {
    const auto type = select_memory_type(context_.info.memory_types, needs.memoryTypeBits, domain);
    if (!type) {
        return unsupported("Device '{}' has no memory type for the buffer [{}] in domain {} (allowed types: {:#x}).",
                           context_.info.name, label, static_cast<int>(domain), needs.memoryTypeBits);
    }
    // Whole atoms, so that the rounding of a flush never reaches into a neighbour.
    const std::uint64_t atom = std::max<std::uint64_t>(context_.info.limits.non_coherent_atom_size, 1);
    const Request request{.size = round_up(needs.size, atom),
                          .alignment = std::max({needs.alignment, kViewAlignment, atom}),
                          .type = *type,
                          .label = &label};
    const std::uint64_t limit = context_.info.limits.max_memory_allocation_size;
    if (request.size > limit) {
        return unsupported(
            "The buffer [{}] of {} bytes is above what device '{}' allocates at once ({} bytes). Split it.", label,
            needs.size, context_.info.name, limit);
    }
    const std::lock_guard lock(mutex_);
    return allocate_locked(request);
}

Result<MemoryRange> MemoryBlocks::allocate_locked(const Request& request) {
    const auto& heap = context_.info.heaps[context_.info.memory_types[request.type].heap];
    const std::uint64_t block_size =
        memory_block_size(heap.size_bytes, context_.info.limits.max_memory_allocation_size);
    const auto place = [&](MemoryBlock& block) -> std::optional<MemoryRange> {
        const auto offset = block.ranges.allocate(request.size, request.alignment);
        if (!offset) return std::nullopt;
        return MemoryRange{.block = &block, .offset = *offset, .size = request.size};
    };
    const bool dedicated = request.size > block_size / 2;
    if (!dedicated) {
        for (const auto& block : blocks_) {
            if (block->type != request.type || block->dedicated) continue;
            if (const auto range = place(*block)) return *range;
        }
    }
    auto block = add_block(request, dedicated ? request.size : block_size, dedicated);
    // Where a whole block does not fit any more, the request alone still may.
    if (!block && !dedicated && block.error().kind == ErrorKind::OutOfMemory)
        block = add_block(request, request.size, true);
    if (!block) return std::move(block).error();
    const auto range = place(**block);
    YOLK_CHECK(range.has_value());
    return *range;
}

Result<MemoryRange> MemoryBlocks::allocate_shared(const SharedAllocation& shared, const std::string& label) {
    const Request request{.size = shared.size,
                          .alignment = 1,
                          .type = shared.type,
                          .label = &label,
                          .chain = shared.chain,
                          .imported = shared.imported};
    const std::lock_guard lock(mutex_);
    YOLK_TRY(MemoryBlock* const block, add_block(request, shared.size, true));
    const auto offset = block->ranges.allocate(shared.size, 1);
    YOLK_CHECK(offset.has_value());
    return MemoryRange{.block = block, .offset = *offset, .size = shared.size};
}

std::string MemoryBlocks::lacks_room(const Request& request, std::uint64_t size) const {
    const std::uint32_t count_limit = context_.info.limits.max_memory_allocation_count;
    if (blocks_.size() >= count_limit) return fmt::format("all {} allocations are made", count_limit);
    if (request.imported) return {};  // it is there already
    const std::uint32_t heap = context_.info.memory_types[request.type].heap;
    const std::uint64_t heap_size = context_.info.heaps[heap].size_bytes;
    if (size > heap_size || heap_used_[heap] > heap_size - size) return "the heap is full";
    // Drivers on the host's memory take pages as they are written to: what is too much ends the process later.
    if (apart_from_host(context_.info.kind, context_.info.heaps[heap])) return {};
    return lacks_host_room(context_.info, size);
}

Result<MemoryBlock*> MemoryBlocks::add_block(const Request& request, std::uint64_t size, bool dedicated) {
    if (const std::string lacks = lacks_room(request, size); !lacks.empty()) return out_of_memory(request, lacks);
    if (!request.imported) warn_beyond_budget(request, size);
    auto block = std::make_unique<MemoryBlock>(size);
    block->type = request.type;
    block->dedicated = dedicated;
    block->imported = request.imported;
    const VkMemoryAllocateInfo info{.sType = VK_STRUCTURE_TYPE_MEMORY_ALLOCATE_INFO,
                                    .pNext = request.chain,
                                    .allocationSize = size,
                                    .memoryTypeIndex = request.type};
    const VkResult allocated = context_.vk.vkAllocateMemory(context_.handle, &info, nullptr, &block->memory);
    if (allocated == VK_ERROR_OUT_OF_HOST_MEMORY || allocated == VK_ERROR_OUT_OF_DEVICE_MEMORY)
        return out_of_memory(request, vk_result_name(allocated), allocated);
    if (allocated != VK_SUCCESS) {
        const std::string what = fmt::format("allocate {} bytes for the buffer [{}]", request.size, *request.label);
        return context_.error(allocated, what, what);
    }
    if (context_.info.memory_types[request.type].host_visible) {
        void* mapped = nullptr;
        const VkResult result = context_.vk.vkMapMemory(context_.handle, block->memory, 0, VK_WHOLE_SIZE, 0, &mapped);
        if (result != VK_SUCCESS) {
            context_.vk.vkFreeMemory(context_.handle, block->memory, nullptr);
            return vk_error(result, fmt::format("map {} bytes of memory for the buffer [{}]", size, *request.label));
        }
        block->mapped = static_cast<std::byte*>(mapped);
    }
    if (!request.imported) heap_used_[context_.info.memory_types[request.type].heap] += size;
    count_peak();
    context_.counters.memory_blocks.fetch_add(1);
    blocks_.push_back(std::move(block));
    return blocks_.back().get();
}

// A budget is an estimate that moves with what other processes do, so what is beyond it is tried all the same: drivers
// make room by moving memory to the host, which is slow but works. Once for a heap; out_of_memory() has the figures
// where it does not work.
void MemoryBlocks::warn_beyond_budget(const Request& request, std::uint64_t size) {
    const std::uint32_t index = context_.info.memory_types[request.type].heap;
    const MemoryHeapInfo heap = context_.heaps_now()[index];
    if (warned_[index] || size <= heap_room(context_.info.kind, heap)) return;
    warned_[index] = true;
    log_warning(fmt::format(
        "Memory of device '{}' is short: the buffer [{}] takes {} more bytes of heap {}, of which this process uses {} "
        "and may use {}. The driver may move memory to the host, which makes kernels slow.",
        context_.info.name, *request.label, size, index, heap.budget->used_bytes, heap.budget->budget_bytes));
}

void MemoryBlocks::count_peak() noexcept {
    std::uint64_t held = 0;
    for (std::size_t heap = 0; heap < heap_used_.size(); ++heap) {
        if (apart_from_host(context_.info.kind, context_.info.heaps[heap])) held += heap_used_[heap];
    }
    // Under the mutex, so nobody stores between the comparison and this.
    if (held > context_.counters.peak_device_memory_bytes.load())
        context_.counters.peak_device_memory_bytes.store(held);
}

Error MemoryBlocks::out_of_memory(const Request& request, const std::string& why, VkResult native) const {
    const std::uint32_t heap = context_.info.memory_types[request.type].heap;
    const std::uint64_t heap_size = context_.info.heaps[heap].size_bytes;
    std::uint64_t free_in_blocks = 0;
    for (const auto& block : blocks_) {
        if (context_.info.memory_types[block->type].heap == heap) free_in_blocks += block->ranges.free_size();
    }
    const std::optional<MemoryBudget> budget = context_.heaps_now()[heap].budget;
    const std::string driver = budget ? fmt::format(" The driver gives this process {} bytes of it, {} of them used.",
                                                    budget->budget_bytes, budget->used_bytes)
                                      : std::string();
    return {ErrorKind::OutOfMemory,
            fmt::format("Cannot allocate {} bytes for the buffer [{}] on device '{}': {}. Of heap {} with {} bytes, "
                        "Yolk holds {}, {} of them free in pieces.{} Free buffers or ask for less.",
                        request.size, *request.label, context_.info.name, why, heap, heap_size, heap_used_[heap],
                        free_in_blocks, driver),
            static_cast<int>(native)};
}

void MemoryBlocks::free(const MemoryRange& range) noexcept {
    if (range.block == nullptr) return;
    const std::lock_guard lock(mutex_);
    range.block->ranges.free(range.offset);
    if (!range.block->ranges.empty()) return;
    const auto is_spare = [&](const std::unique_ptr<MemoryBlock>& block) {
        return block.get() != range.block && block->type == range.block->type && !block->dedicated &&
               block->ranges.empty();
    };
    if (range.block->dedicated || std::any_of(blocks_.begin(), blocks_.end(), is_spare)) release(range.block);
}

void MemoryBlocks::release(MemoryBlock* block) noexcept {
    const auto found =
        std::find_if(blocks_.begin(), blocks_.end(), [&](const auto& owned) { return owned.get() == block; });
    YOLK_CHECK(found != blocks_.end());
    if (!block->imported) heap_used_[context_.info.memory_types[block->type].heap] -= block->ranges.size();
    destroy(*block);
    blocks_.erase(found);
}

void MemoryBlocks::destroy(MemoryBlock& block) noexcept {
    if (context_.abandon(1)) return;
    if (block.mapped != nullptr) context_.vk.vkUnmapMemory(context_.handle, block.memory);
    context_.vk.vkFreeMemory(context_.handle, block.memory, nullptr);
}

}  // namespace yolk
