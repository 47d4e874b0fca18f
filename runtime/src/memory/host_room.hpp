// SPDX-License-Identifier: Apache-2.0
// Drivers that work in the process's own memory take it without asking, and end the process where it is missing.
#pragma once

#include <cstdint>
#include <string>

#include "yolk/internal/runtime/device_info.hpp"

namespace yolk {

/// What a CPU driver is left for itself: it compiles kernels in this process, and does not survive where that fails.
inline constexpr std::uint64_t kDriverRoomBytes = std::uint64_t{128} << 20U;

/// Why `size_bytes` in the host's memory, beside kDriverRoomBytes for a CPU driver, are more than there is: the end of
/// a sentence. Empty where they are not.
[[nodiscard]] std::string lacks_host_room(const DeviceInfo& device, std::uint64_t size_bytes);

}  // namespace yolk
