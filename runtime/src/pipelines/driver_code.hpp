// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "specialized_modules.hpp"
#include "yolk/internal/runtime/device_info.hpp"
#include "yolk/internal/shaders/kernel.hpp"
#include "yolk/result.hpp"

namespace yolk {

/// Whether the driver compiles what constants rule out as if it could run. With specialized modules SwiftShader 25 runs
/// roll-outs 7 to 9 times as fast, and begins in about a third of the time; for lavapipe nothing changes (2026-11-27).
[[nodiscard]] bool leaves_constants(const DeviceInfo& device);

/// The SPIR-V of a kernel as the driver is given it: specialized where it is unrolled or the driver leaves that to us,
/// with these constants as its defaults where it has matrix types, else as it is. `keep`: whether the file of
/// specialized modules is to have it. Error: specialize()'s.
[[nodiscard]] Result<std::vector<std::uint32_t>> code_for_driver(const DeviceInfo& device, SpecializedModules& modules,
                                                                 const KernelModule& kernel, std::uint64_t spirv_hash,
                                                                 std::span<const SpecConstant> constants, bool keep);

}  // namespace yolk
