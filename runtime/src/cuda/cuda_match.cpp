// SPDX-License-Identifier: Apache-2.0
#include "cuda_match.hpp"

#include <fmt/format.h>

namespace yolk {

std::string uuid_text(std::span<const std::byte, 16> bytes) {
    std::string text;
    for (const std::byte byte : bytes) text += fmt::format("{:02x}", std::to_integer<unsigned>(byte));
    return text;
}

Result<std::size_t> match_cuda_device(const DeviceInfo& device, std::span<const CudaDeviceName> listed) {
    std::vector<std::string> others;
    for (std::size_t i = 0; i < listed.size(); ++i) {
        if (listed[i].uuid == device.uuid) return i;
        others.push_back(fmt::format("{} '{}' ({})", i, listed[i].name, listed[i].uuid));
    }
    return unsupported("CUDA has no device with the UUID of '{}' ({}). It has: {}.", device.name, device.uuid,
                       others.empty() ? "none" : fmt::format("{}", fmt::join(others, ", ")));
}

Result<void> check_for_cuda(const HandleOrigin& origin, const CudaDeviceName& cuda, std::string_view what) {
    if (origin.device_uuid == cuda.uuid) return {};
    return bad_input("CUDA's device '{}' ({}) cannot import {}, which is of the device with UUID {}.", cuda.name,
                     cuda.uuid, what, origin.device_uuid);
}

Result<void> check_for_cuda(const MemoryHandle& handle, const CudaDeviceName& cuda) {
    if (handle.type != HandleType::OpaqueFd) {
        return bad_input("CUDA cannot import memory from {}; export it as {}.", to_string(handle.type),
                         to_string(HandleType::OpaqueFd));
    }
    YOLK_TRY_VOID(check_for_cuda(handle.origin, cuda, "a buffer's memory"));
    if (handle.buffer_bytes >= 1 && handle.buffer_bytes <= handle.allocation_bytes) return {};
    return bad_input("CUDA cannot import memory of {} bytes in an allocation of {}: it must fit, and have 1 at least.",
                     handle.buffer_bytes, handle.allocation_bytes);
}

Result<void> check_cuda_range(std::uint64_t offset, std::uint64_t bytes, std::uint64_t size) {
    if (offset <= size && bytes <= size - offset) return {};
    return bad_input("{} bytes at offset {} reach past the end of CUDA's buffer of {} bytes.", bytes, offset, size);
}

}  // namespace yolk
