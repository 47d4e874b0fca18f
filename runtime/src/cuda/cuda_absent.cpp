// SPDX-License-Identifier: Apache-2.0
// cuda.hpp in a build that found no CUDA headers: nothing can be opened, so nothing else is ever called.
#include <cstdlib>

#include "yolk/cuda.hpp"

namespace yolk {
namespace {

Error without_headers() {
    return unsupported(
        "This build of Yolk has no CUDA: its headers were not found. Install the CUDA toolkit, or name a folder with "
        "cuda.h by -DYOLK_CUDA_INCLUDE=FOLDER, and build again.");
}

}  // namespace

Result<CudaDevice> CudaDevice::open(const Device& /*device*/, const CudaOptions& /*options*/) {
    return without_headers();
}
int CudaDevice::ordinal() const noexcept { return -1; }
const std::string& CudaDevice::name() const noexcept {
    static const std::string none = "no device";
    return none;
}

Result<CudaBuffer> CudaBuffer::import(const CudaDevice& /*device*/, const MemoryHandle& /*handle*/) {
    return without_headers();
}
std::uint64_t CudaBuffer::address() const noexcept { return 0; }
std::uint64_t CudaBuffer::size_bytes() const noexcept { return 0; }
Result<void> CudaBuffer::upload(std::uint64_t /*offset_bytes*/, std::span<const std::byte> /*bytes*/,
                                CudaStream /*stream*/) const {
    return without_headers();
}
Result<void> CudaBuffer::download(std::uint64_t /*offset_bytes*/, std::span<std::byte> /*bytes*/,
                                  CudaStream /*stream*/) const {
    return without_headers();
}
Result<DLManagedTensor*> CudaBuffer::dlpack(const DlpackDesc& /*desc*/) const { return without_headers(); }

Result<CudaTimeline> CudaTimeline::import(const CudaDevice& /*device*/, const TimelineHandle& /*handle*/) {
    return without_headers();
}
Result<void> CudaTimeline::wait(std::uint64_t /*value*/, CudaStream /*stream*/) const { return without_headers(); }
Result<void> CudaTimeline::signal(std::uint64_t /*value*/, CudaStream /*stream*/) const { return without_headers(); }

}  // namespace yolk
