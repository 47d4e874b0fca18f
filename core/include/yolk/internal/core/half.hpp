// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <bit>
#include <cstdint>

namespace yolk {

/// An fp16 as fp32, which is exact; a NaN keeps its payload.
[[nodiscard]] inline float widened_half(std::uint16_t half) noexcept {
    const std::uint32_t sign = static_cast<std::uint32_t>(half & 0x8000U) << 16U;
    const std::uint32_t exponent = (half >> 10U) & 31U;
    const std::uint32_t fraction = half & 1023U;
    if (exponent == 31) return std::bit_cast<float>(sign | 0x7F800000U | (fraction << 13U));
    if (exponent != 0) return std::bit_cast<float>(sign | ((exponent + 112U) << 23U) | (fraction << 13U));
    const float tiny = static_cast<float>(fraction) * 0x1p-24F;  // zero included
    return sign == 0 ? tiny : -tiny;
}

}  // namespace yolk
