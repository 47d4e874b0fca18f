// SPDX-License-Identifier: Apache-2.0
// Buffers whose memory another VkDevice, another process or CUDA uses as well. No Vulkan types; descriptors are
// Linux's. What a device can do is DeviceInfo::sharing; whatever it cannot is an error of kind Unsupported that says
// what it can do instead (docs/adr/0023-sharing-with-cuda.md).
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

#include "yolk/core/descriptor.hpp"
#include "yolk/core/result.hpp"
#include "yolk/runtime/buffer.hpp"
#include "yolk/runtime/device.hpp"
#include "yolk/runtime/recorder.hpp"
#include "yolk/runtime/sharing.hpp"

namespace yolk {

/// The memory of an exported buffer. Another process gets the descriptor by a socket (SCM_RIGHTS) and the rest as plain
/// data. For a dma-buf of another driver, fill in buffer_bytes and allocation_bytes; the rest is not looked at.
struct MemoryHandle {
    Descriptor fd = Descriptor();  ///< the caller's; keeps the memory alive, even without the buffer
    HandleType type = HandleType::OpaqueFd;
    std::uint64_t buffer_bytes = 0;      ///< of the buffer
    std::uint64_t allocation_bytes = 0;  ///< of the memory, at whose beginning the buffer lies
    std::uint32_t memory_type = 0;       ///< index of DeviceInfo::memory_types
    HandleOrigin origin{};
};

/// A buffer like any other, with memory of its own that export_memory gives out. Errors: those of
/// Device::create_buffer; Unsupported where the device does not export handles of `type`.
[[nodiscard]] Result<Buffer> create_exportable_buffer(const Device& device, const BufferDesc& desc,
                                                      HandleType type = HandleType::OpaqueFd);

/// A new descriptor of the memory at each call. Errors: BadInput for a buffer of another kind, Driver.
[[nodiscard]] Result<MemoryHandle> export_memory(const Buffer& buffer);

/// A buffer over the memory of `handle`, which stays the caller's: the driver gets a duplicate of the descriptor. Both
/// sides see the same bytes. Order their work by semaphores or waits. It is mapped like any buffer of domain Device.
/// Errors: Unsupported where the device does not import the type; BadInput for a handle of another device or driver,
/// sizes that do not belong together or exceed the memory, and a descriptor that is closed or no memory.
[[nodiscard]] Result<Buffer> import_memory(const Device& device, const MemoryHandle& handle,
                                           const std::string& label = "imported buffer");

/// A buffer over `bytes` of the caller's, which he keeps until the buffer is destroyed; mapped() is the same memory.
/// Begin and size are multiples of SharingSupport::host_pointer_alignment. Errors: Unsupported, BadInput, Driver.
[[nodiscard]] Result<Buffer> import_host_pointer(const Device& device, std::span<std::byte> bytes,
                                                 const std::string& label = "host memory");

/// Vulkan gives a shared buffer to one side at a time. At the end of the recording that used it: what others do after
/// that recording sees it. They tell by a semaphore or by waiting; the contents stay.
void release_shared(Recorder& recorder, const BufferView& view) noexcept;
/// At the beginning of the next recording that uses it.
void acquire_shared(Recorder& recorder, const BufferView& view) noexcept;

}  // namespace yolk
