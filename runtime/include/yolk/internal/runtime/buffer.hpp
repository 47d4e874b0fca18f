// SPDX-License-Identifier: Apache-2.0
// Buffers and views of them. Callers own every buffer; kernels are given views.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

#include "yolk/internal/core/owned.hpp"
#include "yolk/internal/runtime/memory_type.hpp"
#include "yolk/result.hpp"

namespace yolk {

/// Storage offsets and scratch are aligned to this on every device (the largest alignment that Vulkan allows to be
/// required).
inline constexpr std::uint64_t kViewAlignment = 256;

struct BufferDesc {
    std::uint64_t size_bytes = 0;  ///< at least 1
    MemoryDomain domain = MemoryDomain::Device;
    std::string label;  ///< in error messages and the debug layers
};

/// A VkBuffer and its piece of a memory block. Usable as storage, uniform, and source or target of copies. Move-only;
/// must outlive the work that uses it. Moving it leaves views, bindings and the mapping as they are; assigning over it
/// ends them. One thread at a time calls flush, invalidate or writes to the mapping; any may view it.
class Buffer {
   public:
    Buffer() noexcept = default;

    [[nodiscard]] std::uint64_t size_bytes() const noexcept;
    [[nodiscard]] const std::string& label() const noexcept;
    /// The mapping: all bytes for Upload and Readback; for Device only where the memory can be mapped, else empty.
    [[nodiscard]] std::span<std::byte> mapped() const noexcept;
    /// Makes host writes visible to work submitted later. A no-op on coherent memory.
    [[nodiscard]] Result<void> flush() const;
    /// Makes finished device writes visible to host reads. A no-op on coherent memory.
    [[nodiscard]] Result<void> invalidate() const;

    struct Impl;  // runtime/src/device/buffer_impl.hpp
    [[nodiscard]] const Impl* impl() const noexcept { return impl_.get(); }

   private:
    friend struct Interop;  // runtime/src/device/private_access.hpp
    friend class Device;
    explicit Buffer(Owned<Impl> impl) noexcept : impl_(std::move(impl)) {}
    Owned<Impl> impl_;
};

/// A range of a buffer. Does not own; plain data. Valid until the buffer is destroyed, wherever the `Buffer` object is
/// moved to meanwhile. An empty view (no buffer) is legal where zero bytes are needed.
struct BufferView {
    const Buffer::Impl* buffer = nullptr;
    std::uint64_t offset_bytes = 0;
    std::uint64_t size_bytes = 0;

    BufferView() = default;
    // NOLINTNEXTLINE(google-explicit-constructor): a buffer is a view of all of itself
    BufferView(const Buffer& whole) noexcept : buffer(whole.impl()), size_bytes(whole.size_bytes()) {}
    BufferView(const Buffer& of, std::uint64_t offset, std::uint64_t size) noexcept
        : buffer(of.impl()), offset_bytes(offset), size_bytes(size) {}
    [[nodiscard]] bool empty() const noexcept { return size_bytes == 0; }
    /// `size` bytes from `offset` of this view on, in the same buffer. Whether they are inside is checked by whoever
    /// uses the part.
    [[nodiscard]] BufferView part(std::uint64_t offset, std::uint64_t size) const noexcept {
        BufferView result;
        result.buffer = buffer;
        result.offset_bytes = offset_bytes + offset;
        result.size_bytes = size;
        return result;
    }
    /// The view's bytes of Buffer::mapped(); empty where that is, or where the view leaves its buffer.
    [[nodiscard]] std::span<std::byte> mapped() const noexcept;
};

/// What a plan needs of scratch; size 0 is legal. Scratch is the caller's, undefined before and after.
struct MemoryNeeds {
    std::uint64_t size_bytes = 0;
    std::uint64_t alignment = kViewAlignment;
    /// Where so much cannot be had, less will do, down to this: the work is then done in more and smaller pieces, with
    /// the same result. 0: no less than size_bytes.
    std::uint64_t least_bytes = 0;

    [[nodiscard]] std::uint64_t least() const noexcept { return least_bytes == 0 ? size_bytes : least_bytes; }
};

/// Whether two views share bytes of one buffer.
[[nodiscard]] bool overlap(const BufferView& a, const BufferView& b) noexcept;

/// Refuses a view of bytes that reaches past the end of its buffer, or has none. `what` as below.
[[nodiscard]] Result<void> check_inside(const BufferView& view, const char* what);

/// The check that every bind makes: inside its buffer, aligned to kViewAlignment, at least `needed_bytes` long, and not
/// above the device's binding limit. `what` names it: "the out view of [noise]". An empty view passes for zero bytes.
[[nodiscard]] Result<void> check_view(const BufferView& view, std::uint64_t needed_bytes, std::uint64_t max_range_bytes,
                                      const char* what);

/// Refuses any overlap among `outputs`, and between `outputs` and `inputs`. `what` names the plan: "[noise]".
[[nodiscard]] Result<void> check_no_overlap(std::span<const BufferView> outputs, std::span<const BufferView> inputs,
                                            const char* what);

}  // namespace yolk
