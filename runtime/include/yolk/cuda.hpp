// SPDX-License-Identifier: Apache-2.0
// CUDA on the memory and the timeline semaphores of a Vulkan device: what yolk/shared_memory.hpp
// exports is imported by CUDA's driver API. libcuda is loaded when the first CudaDevice is opened and never linked. A
// build without CUDA's headers has the same functions; CudaDevice::open then is an error of kind Unsupported. Of an
// object that was moved from, every call is an error (BadInput), and what cannot fail says "no device", -1 or 0.
//
// Compiled against CUDA 12.9 and 13.0; example 12 ran on an H200 (docs/nvidia_h200.md).
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <utility>

#include "yolk/device.hpp"
#include "yolk/internal/runtime/dlpack.hpp"
#include "yolk/result.hpp"
#include "yolk/shared_memory.hpp"

namespace yolk {

/// A CUstream, or a cudaStream_t; null is CUDA's default stream.
using CudaStream = void*;

struct CudaOptions {
    std::string library = "libcuda.so.1";  ///< as dlopen takes it
};

/// CUDA's primary context, which PyTorch and the CUDA runtime use, too, on the GPU of a Vulkan device. Cheap to copy;
/// what was imported by it keeps it. Threading: every member of these classes from any thread.
class CudaDevice {
   public:
    /// Errors: Unsupported where the build has no CUDA headers, the library cannot be loaded or lacks a function, or
    /// CUDA has no device with the UUID of `device` (the message lists those it has); Driver.
    [[nodiscard]] static Result<CudaDevice> open(const Device& device, const CudaOptions& options = {});

    [[nodiscard]] int ordinal() const noexcept;  ///< as cuda:N counts, and DLPack
    [[nodiscard]] const std::string& name() const noexcept;

    struct Impl;  // runtime/src/cuda/cuda_interop.cpp
    [[nodiscard]] const std::shared_ptr<Impl>& impl() const noexcept { return impl_; }

   private:
    explicit CudaDevice(std::shared_ptr<Impl> impl) noexcept : impl_(std::move(impl)) {}
    std::shared_ptr<Impl> impl_;
};

/// Exported memory as CUDA sees it. Cheap to copy; tensors keep the memory, even when buffer and device are gone.
class CudaBuffer {
   public:
    /// `handle` stays the caller's. Errors: BadInput for a handle that is not an opaque descriptor of this GPU's, or a
    /// closed one; Driver.
    [[nodiscard]] static Result<CudaBuffer> import(const CudaDevice& device, const MemoryHandle& handle);

    [[nodiscard]] std::uint64_t address() const noexcept;  ///< a CUdeviceptr
    [[nodiscard]] std::uint64_t size_bytes() const noexcept;
    /// Copies from and to the host after what `stream` holds, and waits for that. Errors: BadInput for a range outside.
    [[nodiscard]] Result<void> upload(std::uint64_t offset_bytes, std::span<const std::byte> bytes,
                                      CudaStream stream = nullptr) const;
    [[nodiscard]] Result<void> download(std::uint64_t offset_bytes, std::span<std::byte> bytes,
                                        CudaStream stream = nullptr) const;
    /// For torch.from_dlpack and others. Errors: make_dlpack's.
    [[nodiscard]] Result<DLManagedTensor*> dlpack(const DlpackDesc& desc) const;

    struct Impl;  // runtime/src/cuda/cuda_interop.cpp

   private:
    explicit CudaBuffer(std::shared_ptr<Impl> impl) noexcept : impl_(std::move(impl)) {}
    std::shared_ptr<Impl> impl_;
};

/// An exported timeline semaphore as CUDA sees it.
class CudaTimeline {
   public:
    /// `handle` stays the caller's. Errors: BadInput for a handle of another GPU or a closed one; Driver.
    [[nodiscard]] static Result<CudaTimeline> import(const CudaDevice& device, const TimelineHandle& handle);

    /// What is put on `stream` later runs once `value` is reached. Returns at once.
    [[nodiscard]] Result<void> wait(std::uint64_t value, CudaStream stream = nullptr) const;
    /// Sets `value` once what `stream` holds has ended. Returns at once.
    [[nodiscard]] Result<void> signal(std::uint64_t value, CudaStream stream = nullptr) const;

    struct Impl;  // runtime/src/cuda/cuda_interop.cpp

   private:
    explicit CudaTimeline(std::shared_ptr<Impl> impl) noexcept : impl_(std::move(impl)) {}
    std::shared_ptr<Impl> impl_;
};

}  // namespace yolk
