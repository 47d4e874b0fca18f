// SPDX-License-Identifier: Apache-2.0
#include "yolk/internal/runtime/buffer.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "buffer_impl.hpp"
#include "device_impl.hpp"
#include "vk_result.hpp"

namespace yolk {
namespace {

std::string describe_creation(const BufferDesc& desc) {
    return fmt::format("create the buffer [{}] of {} bytes", desc.label, desc.size_bytes);
}

}  // namespace

std::uint64_t Buffer::size_bytes() const noexcept { return impl_ ? impl_->size_bytes : 0; }

const std::string& Buffer::label() const noexcept {
    static const std::string none = "no buffer";
    return impl_ ? impl_->label : none;
}

std::span<std::byte> Buffer::mapped() const noexcept {
    if (!impl_ || !impl_->host_access) return {};
    return {impl_->host, static_cast<std::size_t>(impl_->size_bytes)};
}

Result<void> Buffer::flush() const { return impl_ ? impl_->flush(0, impl_->size_bytes) : Result<void>(); }
Result<void> Buffer::invalidate() const { return impl_ ? impl_->invalidate(0, impl_->size_bytes) : Result<void>(); }

Buffer::Impl::~Impl() {
    if (!device || adopted) return;
    const DeviceContext& context = device->context;
    if (handle != VK_NULL_HANDLE && !context.abandon(1)) context.vk.vkDestroyBuffer(context.handle, handle, nullptr);
    device->memory->free(memory);  // NOLINT(clang-analyzer-unix.MismatchedDeallocator): not that free
}

Result<void> Buffer::Impl::check_usage(VkBufferUsageFlags needed, std::string_view what) const {
    if ((usage & needed) == needed) return {};
    return bad_input(
        "{}: the buffer [{}] was made with usage {:#x}, which lacks {:#x}. Make it with that bit of "
        "VkBufferUsageFlagBits.",
        what, label, usage, needed & ~usage);
}

VkMappedMemoryRange Buffer::Impl::atoms(std::uint64_t offset, std::uint64_t size) const {
    // The range starts on an atom and ends on one (MemoryBlocks::allocate), but for the end of a block, which Vulkan
    // allows.
    const std::uint64_t atom = std::max<std::uint64_t>(device->context.info.limits.non_coherent_atom_size, 1);
    const std::uint64_t begin = (memory.offset + offset) / atom * atom;
    const std::uint64_t end =
        std::min((memory.offset + offset + size + atom - 1) / atom * atom, memory.block->ranges.size());
    return {.sType = VK_STRUCTURE_TYPE_MAPPED_MEMORY_RANGE,
            .memory = memory.block->memory,
            .offset = begin,
            .size = end - begin};
}

Result<void> Buffer::Impl::flush(std::uint64_t offset, std::uint64_t size) const {
    if (!host_access || !needs_flush || size == 0) return {};
    const VkMappedMemoryRange range = atoms(offset, size);
    const VkResult result = device->context.vk.vkFlushMappedMemoryRanges(device->context.handle, 1, &range);
    if (result != VK_SUCCESS) return vk_error(result, fmt::format("flush {} bytes of the buffer [{}]", size, label));
    return {};
}

Result<void> Buffer::Impl::invalidate(std::uint64_t offset, std::uint64_t size) const {
    if (!host_access || !needs_flush || size == 0) return {};
    const VkMappedMemoryRange range = atoms(offset, size);
    const VkResult result = device->context.vk.vkInvalidateMappedMemoryRanges(device->context.handle, 1, &range);
    if (result != VK_SUCCESS)
        return vk_error(result, fmt::format("invalidate {} bytes of the buffer [{}]", size, label));
    return {};
}

Result<std::unique_ptr<Buffer::Impl>> make_bare_buffer(const std::shared_ptr<Device::Impl>& device,
                                                       const BufferDesc& desc, const void* chain,
                                                       VkMemoryRequirements& needs) {
    const DeviceContext& context = device->context;
    const std::string what = describe_creation(desc);
    if (!context.health.good()) return context.failed(what);
    if (desc.size_bytes == 0) {
        return bad_input("The buffer [{}] was asked for with 0 bytes; at least 1 is needed.", desc.label);
    }
    // Before vkCreateBuffer: drivers differ in how they take absurd sizes.
    if (desc.size_bytes > context.info.limits.max_memory_allocation_size) {
        return unsupported(
            "The buffer [{}] of {} bytes is above what device '{}' allocates at once ({} bytes). Split it.", desc.label,
            desc.size_bytes, context.info.name, context.info.limits.max_memory_allocation_size);
    }
    auto impl = std::make_unique<Buffer::Impl>();
    impl->device = device;
    impl->size_bytes = desc.size_bytes;
    impl->label = desc.label;
    const VkBufferCreateInfo info{.sType = VK_STRUCTURE_TYPE_BUFFER_CREATE_INFO,
                                  .pNext = chain,
                                  .size = desc.size_bytes,
                                  .usage = kBufferUsage,
                                  .sharingMode = VK_SHARING_MODE_EXCLUSIVE};
    YOLK_TRY_VOID(vk_check(context.vk.vkCreateBuffer(context.handle, &info, nullptr, &impl->handle), what));
    context.vk.vkGetBufferMemoryRequirements(context.handle, impl->handle, &needs);
    return impl;
}

Result<void> equip_buffer(Buffer::Impl& buffer, MemoryDomain domain, const std::string& what) {
    const DeviceContext& context = buffer.device->context;
    const MemoryBlock& block = *buffer.memory.block;
    YOLK_TRY_VOID(vk_check(
        context.vk.vkBindBufferMemory(context.handle, buffer.handle, block.memory, buffer.memory.offset), what));
    const MemoryTypeInfo& type = context.info.memory_types[block.type];
    buffer.host_access =
        domain == MemoryDomain::Device ? directly_mappable(type, context.memory_policy) : type.host_visible;
    buffer.host = buffer.memory.mapped();
    buffer.needs_flush = needs_flush(type, context.memory_policy);
    buffer.read_back = domain == MemoryDomain::Readback;
    context.name(VK_OBJECT_TYPE_BUFFER, buffer.handle, buffer.label);
    context.counters.buffers_created.fetch_add(1);
    return {};
}

Result<std::unique_ptr<Buffer::Impl>> make_buffer(const std::shared_ptr<Device::Impl>& device, const BufferDesc& desc) {
    VkMemoryRequirements needs{};
    YOLK_TRY(auto impl, make_bare_buffer(device, desc, nullptr, needs));
    YOLK_TRY(impl->memory, device->memory->allocate(needs, desc.domain, desc.label));
    YOLK_TRY_VOID(equip_buffer(*impl, desc.domain, describe_creation(desc)));
    return impl;
}

}  // namespace yolk
