// SPDX-License-Identifier: Apache-2.0
// Views of memory as DLPack tensors, which PyTorch, JAX, CuPy and NumPy take without a copy. A program that uses the
// tensors itself includes dlpack.h, which Yolk does not need; for Python, put the pointer into a PyCapsule named
// "dltensor".
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "yolk/internal/core/dtype.hpp"
#include "yolk/internal/runtime/buffer.hpp"
#include "yolk/result.hpp"

struct DLManagedTensor;  // of dlpack.h

namespace yolk {

/// Where a tensor lies: DLDeviceType's numbers.
enum class DlpackDevice : std::int32_t { Cpu = 1, Cuda = 2 };

struct DlpackMemory {
    void* data = nullptr;  ///< a pointer of the device's
    std::uint64_t size_bytes = 0;
    DlpackDevice device = DlpackDevice::Cpu;
    std::int32_t device_id = 0;  ///< CUDA's ordinal; 0 for the host
};

/// A dense tensor, the last dimension fastest. No dimension at all is a scalar.
struct DlpackDesc {
    DType dtype = DType::F32;
    std::vector<std::int64_t> shape;
    std::uint64_t offset_bytes = 0;  ///< from the beginning of the memory; a multiple of the element's size
};

/// A tensor that keeps `keep` until its deleter is called, which whoever consumes it does, once. Errors: BadInput for
/// negative dimensions and for what does not lie in the memory.
[[nodiscard]] Result<DLManagedTensor*> make_dlpack(const DlpackMemory& memory, const DlpackDesc& desc,
                                                   std::shared_ptr<const void> keep);

/// Of a mapped buffer, on the host. Work that writes it must have ended with Barrier::ToHost, and memory that is not
/// coherent is the caller's to invalidate. Errors: BadInput for a null buffer; Unsupported for one that is not mapped;
/// those of make_dlpack.
[[nodiscard]] Result<DLManagedTensor*> mapped_dlpack(std::shared_ptr<const Buffer> buffer, const DlpackDesc& desc);

/// What a consumer does in the end; for tensors that nobody took. Null is legal.
void delete_dlpack(DLManagedTensor* tensor) noexcept;

}  // namespace yolk
