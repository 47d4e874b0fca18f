// SPDX-License-Identifier: Apache-2.0
// Which of CUDA's devices a Vulkan device is, and whether a handle is for it: pure functions.
#pragma once

#include <array>
#include <cstddef>
#include <span>
#include <string>
#include <vector>

#include "yolk/internal/runtime/device_info.hpp"
#include "yolk/result.hpp"
#include "yolk/shared_memory.hpp"

namespace yolk {

/// A device as CUDA lists it.
struct CudaDeviceName {
    std::string name;
    std::string uuid;  ///< 32 hexadecimal digits, as DeviceInfo::uuid
};

[[nodiscard]] std::string uuid_text(std::span<const std::byte, 16> bytes);

/// The ordinal. Unsupported where no UUID is the device's; the message lists those that CUDA has.
[[nodiscard]] Result<std::size_t> match_cuda_device(const DeviceInfo& device, std::span<const CudaDeviceName> listed);

/// What CUDA can import: an opaque descriptor of the GPU with `uuid`, of sizes that belong together.
[[nodiscard]] Result<void> check_for_cuda(const MemoryHandle& handle, const CudaDeviceName& cuda);
[[nodiscard]] Result<void> check_for_cuda(const HandleOrigin& origin, const CudaDeviceName& cuda,
                                          std::string_view what);

/// `bytes` at `offset` of `size`.
[[nodiscard]] Result<void> check_cuda_range(std::uint64_t offset, std::uint64_t bytes, std::uint64_t size);

}  // namespace yolk
