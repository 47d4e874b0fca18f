// SPDX-License-Identifier: Apache-2.0
#include "yolk/runtime/device_info.hpp"

#include <fmt/format.h>

namespace yolk {

const char* to_string(DeviceKind kind) noexcept {
    switch (kind) {
        case DeviceKind::Other: return "other";
        case DeviceKind::Integrated: return "integrated";
        case DeviceKind::Discrete: return "discrete";
        case DeviceKind::Virtual: return "virtual";
        case DeviceKind::Cpu: return "cpu";
    }
    return "other";
}

std::string version_text(std::uint32_t packed) {
    // Vulkan packs variant (3 bits), major (7), minor (10), patch (12), highest first.
    return fmt::format("{}.{}.{}", (packed >> 22U) & 0x7FU, (packed >> 12U) & 0x3FFU, packed & 0xFFFU);
}

}  // namespace yolk
