// SPDX-License-Identifier: Apache-2.0
#include "yolk/internal/runtime/dlpack.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cstddef>
#include <utility>

#include "dlpack_abi.hpp"

namespace yolk {
namespace {

dlpack_abi::DataType dlpack_type(DType dtype) noexcept {
    const auto bits = static_cast<std::uint8_t>(8 * size_bytes(dtype));
    switch (dtype) {
        case DType::I32:
        case DType::I8: return {.code = 0, .bits = bits, .lanes = 1};
        case DType::U32: return {.code = 1, .bits = bits, .lanes = 1};
        case DType::F32: break;
    }
    return {.code = 2, .bits = bits, .lanes = 1};
}

/// A tensor with what it points to.
struct OwnedTensor {
    dlpack_abi::ManagedTensor tensor{};
    std::vector<std::int64_t> shape;
    std::vector<std::int64_t> strides;
    std::shared_ptr<const void> keep;
};

void delete_tensor(dlpack_abi::ManagedTensor* self) {
    delete static_cast<OwnedTensor*>(self->manager_ctx);  // NOLINT(cppcoreguidelines-owning-memory): DLPack's way
}

/// No more than `most` elements; where a dimension is zero, strides that are numbers.
Result<void> check_shape(const std::vector<std::int64_t>& shape, std::uint64_t most) {
    if (std::ranges::any_of(shape, [](std::int64_t extent) { return extent < 0; })) {
        return bad_input("A tensor of shape [{}] has a negative dimension; 0 and more are allowed.",
                         fmt::join(shape, ", "));
    }
    const bool is_empty = std::ranges::find(shape, 0) != shape.end();
    const std::uint64_t limit = is_empty ? INT64_MAX : most;
    bool fits = limit >= 1;
    std::uint64_t product = 1;  // of what is not zero, as strides are made of
    for (const std::int64_t extent : shape) {
        const auto factor = static_cast<std::uint64_t>(std::max<std::int64_t>(extent, 1));
        fits = fits && product <= limit / factor;
        if (fits) product *= factor;
    }
    if (fits) return {};
    if (is_empty) {
        return bad_input("A tensor of shape [{}] has no elements, but strides that pass 2^63 - 1.",
                         fmt::join(shape, ", "));
    }
    return bad_input("A tensor of shape [{}] does not fit into the memory, which has room for {} elements.",
                     fmt::join(shape, ", "), most);
}

}  // namespace

Result<DLManagedTensor*> make_dlpack(const DlpackMemory& memory, const DlpackDesc& desc,
                                     std::shared_ptr<const void> keep) {
    const std::uint64_t element = size_bytes(desc.dtype);
    if (desc.offset_bytes % element != 0 || desc.offset_bytes > memory.size_bytes) {
        return bad_input("A tensor of {} cannot begin at byte {}: the memory has {} bytes, and elements have {}.",
                         to_string(desc.dtype), desc.offset_bytes, memory.size_bytes, element);
    }
    YOLK_TRY_VOID(check_shape(desc.shape, (memory.size_bytes - desc.offset_bytes) / element));
    auto owned = std::make_unique<OwnedTensor>();
    owned->shape = desc.shape;
    owned->strides.resize(desc.shape.size());
    std::int64_t stride = 1;
    for (std::size_t i = desc.shape.size(); i-- > 0;) {
        owned->strides[i] = stride;
        stride *= std::max<std::int64_t>(desc.shape[i], 1);
    }
    owned->keep = std::move(keep);
    owned->tensor = {// PyTorch has ignored byte_offset, so it stays 0 as in the tensors that others make.
                     .dl_tensor = {.data = static_cast<std::byte*>(memory.data) + desc.offset_bytes,
                                   .device = {.device_type = static_cast<std::int32_t>(memory.device),
                                              .device_id = memory.device_id},
                                   .ndim = static_cast<std::int32_t>(desc.shape.size()),
                                   .dtype = dlpack_type(desc.dtype),
                                   .shape = owned->shape.data(),
                                   .strides = owned->strides.data(),
                                   .byte_offset = 0},
                     .manager_ctx = owned.get(),
                     .deleter = delete_tensor};
    return reinterpret_cast<DLManagedTensor*>(&owned.release()->tensor);
}

Result<DLManagedTensor*> mapped_dlpack(std::shared_ptr<const Buffer> buffer, const DlpackDesc& desc) {
    if (!buffer || buffer->size_bytes() == 0) return bad_input("A tensor was asked for of no buffer.");
    const std::span<std::byte> mapped = buffer->mapped();
    if (mapped.empty()) {
        return unsupported(
            "The buffer [{}] is not mapped, so the host has no view of it. Use memory of domain Readback, or CUDA's "
            "view.",
            buffer->label());
    }
    return make_dlpack({.data = mapped.data(), .size_bytes = mapped.size()}, desc, std::move(buffer));
}

void delete_dlpack(DLManagedTensor* tensor) noexcept {
    auto* managed = reinterpret_cast<dlpack_abi::ManagedTensor*>(tensor);
    if (managed != nullptr && managed->deleter != nullptr) managed->deleter(managed);
}

}  // namespace yolk
