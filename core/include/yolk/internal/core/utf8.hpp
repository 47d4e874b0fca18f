// SPDX-License-Identifier: Apache-2.0
// Whether bytes are text.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

namespace yolk {

/// Bytes of the well-formed UTF-8 character that the text begins with; 0 where it begins with none.
[[nodiscard]] inline std::size_t utf8_character_size(std::string_view text) noexcept {
    if (text.empty()) return 0;
    const auto byte = [&](std::size_t i) { return static_cast<std::uint8_t>(text[i]); };
    const std::uint8_t first = byte(0);
    if (first < 0x80) return 1;
    const std::size_t size = first >= 0xF0 ? 4 : first >= 0xE0 ? 3 : 2;
    if (first < 0xC2 || first > 0xF4 || text.size() < size) return 0;
    for (std::size_t i = 1; i < size; ++i) {
        if ((byte(i) & 0xC0U) != 0x80) return 0;
    }
    const std::uint8_t second = byte(1);
    const bool overlong = (first == 0xE0 && second < 0xA0) || (first == 0xF0 && second < 0x90);
    const bool surrogate = first == 0xED && second > 0x9F;
    const bool beyond = first == 0xF4 && second > 0x8F;
    return overlong || surrogate || beyond ? 0 : size;
}

[[nodiscard]] inline bool is_utf8(std::string_view text) noexcept {
    while (!text.empty()) {
        const std::size_t size = utf8_character_size(text);
        if (size == 0) return false;
        text.remove_prefix(size);
    }
    return true;
}

}  // namespace yolk
