// SPDX-License-Identifier: Apache-2.0
#include "yolk/internal/runtime/device_info.hpp"

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

const char* to_string(HandleType type) noexcept {
    switch (type) {
        case HandleType::OpaqueFd: return "opaque file descriptor";
        case HandleType::DmaBuf: return "dma-buf";
        case HandleType::HostPointer: return "host pointer";
    }
    return "?";
}

const char* to_string(ComponentType type) noexcept {
    switch (type) {
        case ComponentType::F16: return "f16";
        case ComponentType::F32: return "f32";
        case ComponentType::F64: return "f64";
        case ComponentType::I8: return "i8";
        case ComponentType::I16: return "i16";
        case ComponentType::I32: return "i32";
        case ComponentType::I64: return "i64";
        case ComponentType::U8: return "u8";
        case ComponentType::U16: return "u16";
        case ComponentType::U32: return "u32";
        case ComponentType::U64: return "u64";
        case ComponentType::BF16: return "bf16";
    }
    return "?";
}

std::string version_text(std::uint32_t packed) {
    // Vulkan packs variant (3 bits), major (7), minor (10), patch (12), highest first.
    return fmt::format("{}.{}.{}", (packed >> 22U) & 0x7FU, (packed >> 12U) & 0x3FFU, packed & 0xFFFU);
}

}  // namespace yolk
