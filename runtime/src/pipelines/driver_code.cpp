// SPDX-License-Identifier: Apache-2.0
#include "driver_code.hpp"

#include "yolk/internal/shaders/default_constants.hpp"

namespace yolk {

bool leaves_constants(const DeviceInfo& device) { return device.driver_name.starts_with("SwiftShader"); }

Result<std::vector<std::uint32_t>> code_for_driver(const DeviceInfo& device, SpecializedModules& modules,
                                                   const KernelModule& kernel, std::uint64_t spirv_hash,
                                                   std::span<const SpecConstant> constants, bool keep) {
    if (kernel.unrolled || leaves_constants(device)) return modules.get(kernel, spirv_hash, constants, keep);
    constexpr std::uint32_t kHasMatrixTypes =
        kNeedsCooperativeNv | kNeedsCooperativeKhr | kNeedsCooperativeBf16 | kNeedsCooperativeI8;
    if ((kernel.needs & kHasMatrixTypes) != 0) return with_default_constants(kernel.spirv, constants);
    return std::vector<std::uint32_t>(kernel.spirv.begin(), kernel.spirv.end());
}

}  // namespace yolk
