// SPDX-License-Identifier: Apache-2.0
// Element types of buffers and tensors.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

namespace yolk {

enum class DType : std::uint8_t { F32, I32, U32, I8 };

[[nodiscard]] constexpr std::size_t size_bytes(DType dtype) noexcept { return dtype == DType::I8 ? 1 : 4; }

/// The name that safetensors uses: "F32", "I32", "U32", "I8".
[[nodiscard]] constexpr std::string_view to_string(DType dtype) noexcept {
    switch (dtype) {
        case DType::F32: return "F32";
        case DType::I32: return "I32";
        case DType::U32: return "U32";
        case DType::I8: return "I8";
    }
    return "?";
}

}  // namespace yolk
