// SPDX-License-Identifier: Apache-2.0
// Checks of views: pure but for the sizes, labels and handles of the buffers.

#include "buffer_impl.hpp"
#include "yolk/internal/runtime/buffer.hpp"

namespace yolk {

namespace {

/// An adopted buffer may have been adopted twice.
bool same_memory(const Buffer::Impl* a, const Buffer::Impl* b) noexcept {
    if (a == nullptr || b == nullptr) return false;
    return a == b || (a->handle == b->handle && a->device == b->device);
}

}  // namespace

std::span<std::byte> BufferView::mapped() const noexcept {
    if (buffer == nullptr || !buffer->host_access) return {};
    if (offset_bytes > buffer->size_bytes || size_bytes > buffer->size_bytes - offset_bytes) return {};
    return {buffer->host + offset_bytes, static_cast<std::size_t>(size_bytes)};
}

bool overlap(const BufferView& a, const BufferView& b) noexcept {
    if (a.empty() || b.empty() || !same_memory(a.buffer, b.buffer)) return false;
    // Differences, not sums: offsets near 2^64 must not wrap into a false answer.
    return a.offset_bytes <= b.offset_bytes ? b.offset_bytes - a.offset_bytes < a.size_bytes
                                            : a.offset_bytes - b.offset_bytes < b.size_bytes;
}

Result<void> check_inside(const BufferView& view, const char* what) {
    if (view.empty()) return {};
    if (view.buffer == nullptr) {
        return bad_input("Cannot use {}: it has {} bytes but no buffer.", what, view.size_bytes);
    }
    const std::uint64_t whole = view.buffer->size_bytes;
    if (view.offset_bytes <= whole && view.size_bytes <= whole - view.offset_bytes) return {};
    return bad_input("Cannot use {}: {} bytes at offset {} reach past the end of the buffer [{}] of {} bytes.", what,
                     view.size_bytes, view.offset_bytes, view.buffer->label, whole);
}

Result<void> check_view(const BufferView& view, std::uint64_t needed_bytes, std::uint64_t max_range_bytes,
                        const char* what) {
    if (view.empty()) {
        if (needed_bytes == 0) return {};
        return bad_input("Cannot use {}: it is empty, {} bytes are needed.", what, needed_bytes);
    }
    YOLK_TRY_VOID(check_inside(view, what));
    const std::string& label = view.buffer->label;
    if (view.offset_bytes % kViewAlignment != 0) {
        return bad_input("Cannot use {}: its offset {} in the buffer [{}] is not a multiple of {}.", what,
                         view.offset_bytes, label, kViewAlignment);
    }
    if (view.size_bytes < needed_bytes) {
        return bad_input("Cannot use {}: it has {} bytes of the buffer [{}], {} are needed.", what, view.size_bytes,
                         label, needed_bytes);
    }
    if (view.size_bytes > max_range_bytes) {
        return bad_input(
            "Cannot use {}: its {} bytes of the buffer [{}] are above the device's limit of {} for one "
            "binding. Pass a narrower view.",
            what, view.size_bytes, label, max_range_bytes);
    }
    return {};
}

Result<void> check_no_overlap(std::span<const BufferView> outputs, std::span<const BufferView> inputs,
                              const char* what) {
    const auto refuse = [&](std::size_t output, const char* other_kind, std::size_t other, const BufferView& view) {
        return bad_input(
            "Cannot bind {}: output {} shares bytes of the buffer [{}] with {} {}. Give them ranges of their own.",
            what, output, view.buffer->label, other_kind, other);
    };
    for (std::size_t o = 0; o < outputs.size(); ++o) {
        for (std::size_t other = o + 1; other < outputs.size(); ++other) {
            if (overlap(outputs[o], outputs[other])) return refuse(o, "output", other, outputs[o]);
        }
        for (std::size_t i = 0; i < inputs.size(); ++i) {
            if (overlap(outputs[o], inputs[i])) return refuse(o, "input", i, outputs[o]);
        }
    }
    return {};
}

}  // namespace yolk
