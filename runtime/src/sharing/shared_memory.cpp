// SPDX-License-Identifier: Apache-2.0
#include "yolk/shared_memory.hpp"

#include <fmt/format.h>

#include <optional>
#include <utility>

#include "buffer_impl.hpp"
#include "descriptor_check.hpp"
#include "device_impl.hpp"
#include "private_access.hpp"
#include "recorder_impl.hpp"
#include "sharing_support.hpp"
#include "vk_result.hpp"

namespace yolk {
namespace {

VkExternalMemoryHandleTypeFlagBits vk_handle_type(HandleType type) noexcept {
    switch (type) {
        case HandleType::OpaqueFd: return VK_EXTERNAL_MEMORY_HANDLE_TYPE_OPAQUE_FD_BIT;
        case HandleType::DmaBuf: return VK_EXTERNAL_MEMORY_HANDLE_TYPE_DMA_BUF_BIT_EXT;
        case HandleType::HostPointer: break;
    }
    return VK_EXTERNAL_MEMORY_HANDLE_TYPE_HOST_ALLOCATION_BIT_EXT;
}

VkExternalMemoryBufferCreateInfo external_info(HandleType type) noexcept {
    return {.sType = VK_STRUCTURE_TYPE_EXTERNAL_MEMORY_BUFFER_CREATE_INFO,
            .handleTypes = static_cast<VkExternalMemoryHandleTypeFlags>(vk_handle_type(type))};
}

std::string named(const std::string& label) { return fmt::format("the buffer [{}]", label); }

/// The pure checks of a handle; the descriptor is looked at after them.
Result<void> check_handle(const DeviceInfo& device, const MemoryHandle& handle, const std::string& what) {
    if (handle.type == HandleType::HostPointer) {
        return bad_input("Cannot import {} from a descriptor as a host pointer; import_host_pointer takes the bytes.",
                         what);
    }
    YOLK_TRY_VOID(check_memory_import(device, handle.type, what));
    if (handle.type == HandleType::OpaqueFd) {
        YOLK_TRY_VOID(check_origin(device, handle.origin, what));
        if (handle.memory_type >= device.memory_types.size()) {
            return bad_input("Cannot import {}: the handle names memory type {}, and device '{}' has {}.", what,
                             handle.memory_type, device.name, device.memory_types.size());
        }
    }
    const std::uint64_t limit = device.limits.max_memory_allocation_size;
    if (handle.buffer_bytes >= 1 && handle.buffer_bytes <= handle.allocation_bytes && handle.allocation_bytes <= limit)
        return {};
    return bad_input(
        "Cannot import {}: the handle says {} bytes in an allocation of {}. The buffer needs 1 byte at least and must "
        "fit, and device '{}' allocates {} bytes at most.",
        what, handle.buffer_bytes, handle.allocation_bytes, device.name, limit);
}

/// Which type of memory the handle's is here.
Result<std::uint32_t> imported_type(const DeviceContext& context, const MemoryHandle& handle,
                                    const VkMemoryRequirements& needs, const std::string& what) {
    const bool opaque = handle.type == HandleType::OpaqueFd;
    if (needs.size > handle.allocation_bytes || (opaque && needs.size != handle.allocation_bytes)) {
        return bad_input(
            "Cannot import {}: a buffer of {} bytes takes an allocation of {} on device '{}', and the handle says {}.",
            what, handle.buffer_bytes, needs.size, context.info.name, handle.allocation_bytes);
    }
    std::uint32_t allowed = needs.memoryTypeBits;
    if (opaque) {
        allowed &= 1U << handle.memory_type;
    } else {
        VkMemoryFdPropertiesKHR properties{.sType = VK_STRUCTURE_TYPE_MEMORY_FD_PROPERTIES_KHR};
        const VkResult result = context.vk.vkGetMemoryFdPropertiesKHR(context.handle, vk_handle_type(handle.type),
                                                                      handle.fd.get(), &properties);
        if (result != VK_SUCCESS)
            return refused_import(vk_error(result, fmt::format("import {}", what)), handle.type, what);
        allowed &= properties.memoryTypeBits;
    }
    const auto type = select_memory_type(context.info.memory_types, allowed, MemoryDomain::Device);
    if (type) return *type;
    return bad_input("Cannot import {}: device '{}' cannot use memory of that type for a buffer.", what,
                     context.info.name);
}

/// By the budget of this moment.
bool has_room(const DeviceContext& context, std::uint32_t memory_type, std::uint64_t bytes) {
    const std::uint32_t heap = context.info.memory_types[memory_type].heap;
    return bytes <= heap_room(context.info.kind, context.heaps_now()[heap]);
}

void record_transfer(Recorder& recorder, const BufferView& view, bool release) noexcept {
    Recorder::Impl& into = *recorder.impl();
    if (!into.recording(release ? "the release of a shared buffer" : "the acquisition of a shared buffer")) return;
    if (view.empty()) return;
    if (auto ok = check_inside(view, "A shared view"); !ok) return into.stick(std::move(ok).error());
    const DeviceContext& context = into.context();
    if (&view.buffer->device->context != &context) {
        return into.stick(bad_input("The shared buffer [{}] was made by another device than [{}] is of.",
                                    view.buffer->label, into.label));
    }
    constexpr VkPipelineStageFlags kWork = VK_PIPELINE_STAGE_COMPUTE_SHADER_BIT | VK_PIPELINE_STAGE_TRANSFER_BIT;
    constexpr VkAccessFlags kAll = VK_ACCESS_SHADER_READ_BIT | VK_ACCESS_SHADER_WRITE_BIT | VK_ACCESS_UNIFORM_READ_BIT |
                                   VK_ACCESS_TRANSFER_READ_BIT | VK_ACCESS_TRANSFER_WRITE_BIT;
    const VkBufferMemoryBarrier barrier{
        .sType = VK_STRUCTURE_TYPE_BUFFER_MEMORY_BARRIER,
        .srcAccessMask = release ? VK_ACCESS_SHADER_WRITE_BIT | VK_ACCESS_TRANSFER_WRITE_BIT : VkAccessFlags{0},
        .dstAccessMask = release ? VkAccessFlags{0} : kAll,
        .srcQueueFamilyIndex = release ? context.queue_family : VK_QUEUE_FAMILY_EXTERNAL,
        .dstQueueFamilyIndex = release ? VK_QUEUE_FAMILY_EXTERNAL : context.queue_family,
        .buffer = view.buffer->handle,
        .offset = view.offset_bytes,
        .size = view.size_bytes};
    // What waits for the recording's semaphore waits for all of it.
    const VkPipelineStageFlags from = release ? kWork : VkPipelineStageFlags{VK_PIPELINE_STAGE_ALL_COMMANDS_BIT};
    const VkPipelineStageFlags to = release ? VkPipelineStageFlags{VK_PIPELINE_STAGE_BOTTOM_OF_PIPE_BIT} : kWork;
    context.vk.vkCmdPipelineBarrier(into.commands, from, to, 0, 0, nullptr, 1, &barrier, 0, nullptr);
}

}  // namespace

Result<Buffer> create_exportable_buffer(const Device& device, const BufferDesc& desc, HandleType type) {
    const DeviceContext& context = device.impl()->context;
    YOLK_TRY_VOID(check_memory_export(context.info, type, named(desc.label)));
    const VkExternalMemoryBufferCreateInfo external = external_info(type);
    VkMemoryRequirements needs{};
    YOLK_TRY(auto impl, make_bare_buffer(device.impl(), desc, &external, needs));
    const auto memory_type = select_memory_type(context.info.memory_types, needs.memoryTypeBits, desc.domain);
    if (!memory_type) {
        return unsupported("Device '{}' has no memory type for the buffer [{}] in domain {} that it can export.",
                           context.info.name, desc.label, static_cast<int>(desc.domain));
    }
    const VkMemoryDedicatedAllocateInfo dedicated{.sType = VK_STRUCTURE_TYPE_MEMORY_DEDICATED_ALLOCATE_INFO,
                                                  .buffer = impl->handle};
    const VkExportMemoryAllocateInfo exported{.sType = VK_STRUCTURE_TYPE_EXPORT_MEMORY_ALLOCATE_INFO,
                                              .pNext = &dedicated,
                                              .handleTypes = external.handleTypes};
    YOLK_TRY(impl->memory, device.impl()->memory->allocate_shared(
                               {.size = needs.size, .type = *memory_type, .chain = &exported}, desc.label));
    YOLK_TRY_VOID(equip_buffer(*impl, desc.domain, fmt::format("create the exportable buffer [{}]", desc.label)));
    impl->exported_as = type;
    return Interop::buffer(std::move(impl));
}

Result<MemoryHandle> export_memory(const Buffer& buffer) {
    const Buffer::Impl* impl = buffer.impl();
    if (impl == nullptr) return bad_input("Cannot export a buffer that is empty or was moved from.");
    if (!impl->exported_as) {
        return bad_input("Cannot export {}: it was not made by create_exportable_buffer, and may share its memory.",
                         named(impl->label));
    }
    const DeviceContext& context = impl->device->context;
    const std::string what = fmt::format("export {}", named(impl->label));
    if (!context.health.good()) return context.failed(what);
    const MemoryBlock& block = *impl->memory.block;
    const VkMemoryGetFdInfoKHR info{.sType = VK_STRUCTURE_TYPE_MEMORY_GET_FD_INFO_KHR,
                                    .memory = block.memory,
                                    .handleType = vk_handle_type(*impl->exported_as)};
    int fd = -1;
    YOLK_TRY_VOID(vk_check(context.vk.vkGetMemoryFdKHR(context.handle, &info, &fd), what));
    return MemoryHandle{.fd = Descriptor(fd),
                        .type = *impl->exported_as,
                        .buffer_bytes = impl->size_bytes,
                        .allocation_bytes = block.ranges.size(),
                        .memory_type = block.type,
                        .origin = {.device_uuid = context.info.uuid, .driver_uuid = context.info.driver_uuid}};
}

Result<Buffer> import_memory(const Device& device, const MemoryHandle& handle, const std::string& label) {
    const DeviceContext& context = device.impl()->context;
    const std::string what = named(label);
    YOLK_TRY_VOID(check_handle(context.info, handle, what));
    YOLK_TRY_VOID(check_memory_descriptor(context.info.kind, handle.fd.get(), handle.allocation_bytes, what));
    const VkExternalMemoryBufferCreateInfo external = external_info(handle.type);
    VkMemoryRequirements needs{};
    YOLK_TRY(auto impl,
             make_bare_buffer(device.impl(), {.size_bytes = handle.buffer_bytes, .label = label}, &external, needs));
    YOLK_TRY(const std::uint32_t type, imported_type(context, handle, needs, what));
    const std::unique_lock handing_over = hand_over();
    YOLK_TRY(Descriptor fd, duplicate(handle.fd.get(), what));
    // A dedicated allocation is imported as one; of a dma-buf, whoever made it may not have had one.
    const bool dedicated_too = needs.size == handle.allocation_bytes;
    const VkMemoryDedicatedAllocateInfo dedicated{.sType = VK_STRUCTURE_TYPE_MEMORY_DEDICATED_ALLOCATE_INFO,
                                                  .buffer = impl->handle};
    const VkImportMemoryFdInfoKHR imported{.sType = VK_STRUCTURE_TYPE_IMPORT_MEMORY_FD_INFO_KHR,
                                           .pNext = dedicated_too ? &dedicated : nullptr,
                                           .handleType = vk_handle_type(handle.type),
                                           .fd = fd.get()};
    auto memory = device.impl()->memory->allocate_shared(
        {.size = handle.allocation_bytes, .type = type, .chain = &imported, .imported = true}, label);
    if (!memory) {
        close_refused(std::move(fd), handle.fd.get());
        return refused_import(std::move(memory).error(), handle.type, what,
                              has_room(context, type, handle.allocation_bytes));
    }
    leave_to_driver(std::move(fd));
    impl->memory = *memory;
    YOLK_TRY_VOID(equip_buffer(*impl, MemoryDomain::Device, fmt::format("import {}", what)));
    return Interop::buffer(std::move(impl));
}

Result<Buffer> import_host_pointer(const Device& device, std::span<std::byte> bytes, const std::string& label) {
    const DeviceContext& context = device.impl()->context;
    const std::string what = named(label);
    YOLK_TRY_VOID(check_memory_import(context.info, HandleType::HostPointer, what));
    const std::uint64_t alignment = context.info.sharing.host_pointer_alignment;
    const auto address = reinterpret_cast<std::uintptr_t>(bytes.data());
    if (bytes.empty() || address % alignment != 0 || bytes.size() % alignment != 0) {
        return bad_input(
            "Cannot import {} from {} bytes at address {:#x}: device '{}' takes addresses and sizes that are multiples "
            "of {}.",
            what, bytes.size(), address, context.info.name, alignment);
    }
    const VkExternalMemoryBufferCreateInfo external = external_info(HandleType::HostPointer);
    VkMemoryRequirements needs{};
    YOLK_TRY(auto impl,
             make_bare_buffer(device.impl(), {.size_bytes = bytes.size(), .label = label}, &external, needs));
    VkMemoryHostPointerPropertiesEXT properties{.sType = VK_STRUCTURE_TYPE_MEMORY_HOST_POINTER_PROPERTIES_EXT};
    const VkResult asked = context.vk.vkGetMemoryHostPointerPropertiesEXT(
        context.handle, vk_handle_type(HandleType::HostPointer), bytes.data(), &properties);
    if (asked != VK_SUCCESS) {
        return refused_import(vk_error(asked, fmt::format("import {}", what)), HandleType::HostPointer, what);
    }
    const auto type = select_memory_type(context.info.memory_types, needs.memoryTypeBits & properties.memoryTypeBits,
                                         MemoryDomain::Readback);
    if (!type || needs.size > bytes.size()) {
        return unsupported("Device '{}' cannot use the {} bytes of {} for a buffer, which takes {}.", context.info.name,
                           bytes.size(), what, needs.size);
    }
    const VkImportMemoryHostPointerInfoEXT imported{.sType = VK_STRUCTURE_TYPE_IMPORT_MEMORY_HOST_POINTER_INFO_EXT,
                                                    .handleType = vk_handle_type(HandleType::HostPointer),
                                                    .pHostPointer = bytes.data()};
    auto memory = device.impl()->memory->allocate_shared(
        {.size = bytes.size(), .type = *type, .chain = &imported, .imported = true}, label);
    if (!memory) return refused_import(std::move(memory).error(), HandleType::HostPointer, what);
    impl->memory = *memory;
    YOLK_TRY_VOID(equip_buffer(*impl, MemoryDomain::Readback, fmt::format("import {}", what)));
    return Interop::buffer(std::move(impl));
}

void release_shared(Recorder& recorder, const BufferView& view) noexcept { record_transfer(recorder, view, true); }
void acquire_shared(Recorder& recorder, const BufferView& view) noexcept { record_transfer(recorder, view, false); }

}  // namespace yolk
