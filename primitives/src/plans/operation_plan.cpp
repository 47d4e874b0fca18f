// SPDX-License-Identifier: Apache-2.0
#include "operation_plan.hpp"

#include <algorithm>

#include "yolk/internal/core/shape.hpp"

namespace yolk {

Result<std::uint64_t> bytes_of(const Device& device, const ViewShape& shape, const char* what) {
    const auto is_zero = [](const NamedExtent& extent) { return extent.value == 0; };
    if (!shape.used || std::ranges::any_of(shape.extents, is_zero)) return std::uint64_t{0};
    std::uint64_t bytes = size_bytes(shape.dtype);
    for (const NamedExtent& extent : shape.extents) {
        YOLK_TRY(bytes, checked_multiply(bytes, extent.value, what));
    }
    if (!shape.in_pieces) YOLK_TRY_VOID(check_binding_size(device, bytes, what));
    return bytes;
}

std::uint64_t unlimited_bytes_of(const ViewShape& shape) {
    if (!shape.used) return 0;
    std::uint64_t bytes = size_bytes(shape.dtype);
    for (const NamedExtent& extent : shape.extents) {
        if (extent.value == 0) return 0;
    }
    for (const NamedExtent& extent : shape.extents)
        bytes = checked_multiply(bytes, extent.value, "a view").value_or(UINT64_MAX);
    return bytes;
}

bool is_word_per_block(const DescribedView& view) noexcept {
    return view.role == ViewRole::Output && view.shape.used && view.shape.extents.size() == 1;
}

BufferView first_bytes(const BufferView& view, std::uint64_t bytes) noexcept {
    return view.size_bytes <= bytes ? view : view.part(0, bytes);
}

bool is_same(const BufferView& a, const BufferView& b) noexcept {
    return a.buffer == b.buffer && a.offset_bytes == b.offset_bytes && a.size_bytes == b.size_bytes;
}

ViewShape floats_view(FloatFormat format, std::string_view name, std::uint64_t count) {
    if (format == FloatFormat::F32) return {{{name, count}}};
    return {.extents = {{"words", float_bytes(format, count) / kElementBytes}}, .dtype = DType::U32};
}

}  // namespace yolk
