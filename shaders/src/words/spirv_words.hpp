// SPDX-License-Identifier: Apache-2.0
// What each reader of SPIR-V's words needs.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

namespace yolk {

inline constexpr std::size_t kSpirvHeaderWords = 5;

/// Literal strings lie four bytes to a word and end in a zero.
inline std::string literal_string(std::span<const std::uint32_t> words) {
    std::string text;
    for (const std::uint32_t word : words) {
        for (unsigned shift = 0; shift < 32; shift += 8) {
            const auto byte = static_cast<char>(word >> shift & 0xFFU);
            if (byte == 0) return text;
            text += byte;
        }
    }
    return text;
}

}  // namespace yolk
