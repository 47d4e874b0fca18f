// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <volk.h>

#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "buffer_usage.hpp"
#include "memory_blocks.hpp"
#include "yolk/device.hpp"
#include "yolk/internal/runtime/buffer.hpp"

namespace yolk {

struct Buffer::Impl {
    std::shared_ptr<Device::Impl> device;
    VkBuffer handle = VK_NULL_HANDLE;
    bool adopted = false;       ///< handle and memory are the caller's
    MemoryRange memory;         ///< empty where adopted
    std::byte* host = nullptr;  ///< the mapping; null where there is none
    VkBufferUsageFlags usage = kBufferUsage;
    std::uint64_t size_bytes = 0;
    std::string label;
    bool host_access = false;  ///< the mapping is for the caller, too
    bool read_back = false;    ///< MemoryDomain::Readback
    bool needs_flush = false;
    std::optional<HandleType> exported_as;  ///< what its memory was made to be exported as

    Impl() = default;
    Impl(const Impl&) = delete;
    Impl& operator=(const Impl&) = delete;
    ~Impl();

    /// An error where an adopted buffer was not made for the use. `what` begins a sentence.
    [[nodiscard]] Result<void> check_usage(VkBufferUsageFlags needed, std::string_view what) const;
    /// Ranges are relative to the buffer; rounded outwards to whole atoms.
    [[nodiscard]] Result<void> flush(std::uint64_t offset, std::uint64_t size) const;
    [[nodiscard]] Result<void> invalidate(std::uint64_t offset, std::uint64_t size) const;

   private:
    [[nodiscard]] VkMappedMemoryRange atoms(std::uint64_t offset, std::uint64_t size) const;
};

/// A VkBuffer without memory, of the checked description. `chain` is VkBufferCreateInfo's; what the buffer needs goes
/// to `needs`.
[[nodiscard]] Result<std::unique_ptr<Buffer::Impl>> make_bare_buffer(const std::shared_ptr<Device::Impl>& device,
                                                                     const BufferDesc& desc, const void* chain,
                                                                     VkMemoryRequirements& needs);
/// Binds buffer.memory, and what follows from its type. `what` as in vk_error.
[[nodiscard]] Result<void> equip_buffer(Buffer::Impl& buffer, MemoryDomain domain, const std::string& what);

[[nodiscard]] Result<std::unique_ptr<Buffer::Impl>> make_buffer(const std::shared_ptr<Device::Impl>& device,
                                                                const BufferDesc& desc);

}  // namespace yolk
