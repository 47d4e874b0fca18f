// SPDX-License-Identifier: Apache-2.0
// How the floats of a view lie in memory.
#pragma once

#include <array>
#include <cstdint>
#include <string_view>

#include "yolk/internal/abi/float_format.h"

namespace yolk {

enum class FloatFormat : std::uint32_t {
    F32 = abi::float_format::kFormatF32,
    F16 = abi::float_format::kFormatF16,    ///< IEEE binary16
    BF16 = abi::float_format::kFormatBf16,  ///< the upper half of an fp32 number
};

constexpr auto enum_words(FloatFormat /*type*/) { return std::to_array<std::string_view>({"f32", "f16", "bf16"}); }

/// Of so many elements. 16-bit arrays take whole words of four bytes: an odd count has a half word to spare.
[[nodiscard]] constexpr std::uint64_t float_bytes(FloatFormat format, std::uint64_t count) noexcept {
    return format == FloatFormat::F32 ? 4 * count : (count + 1) / 2 * 4;
}

/// "f16".
[[nodiscard]] constexpr const char* to_string(FloatFormat format) noexcept {
    const auto words = enum_words(format);
    const auto index = static_cast<std::size_t>(format);
    return index < words.size() ? words[index].data() : "?";
}

}  // namespace yolk
