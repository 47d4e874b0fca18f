// SPDX-License-Identifier: Apache-2.0
// What the functions of a random environment compute with: the bits of a value, whatever it is.
#pragma once

#include <bit>
#include <cstdint>

#include "yolk/exact/environment_prelude.h"

namespace yolk::testing::random_words {

using Word = std::uint32_t;
inline constexpr Word kMostFloat = 0x447A0000;  // 1000
inline constexpr Word kMixer = 0x9E3779B1;

inline float as_float(Word bits) { return std::bit_cast<float>(bits); }
inline Word as_bits(float value) { return std::bit_cast<Word>(value); }
inline std::int32_t as_int(Word bits) { return static_cast<std::int32_t>(bits); }
inline Word as_word(std::int32_t value) { return static_cast<Word>(value); }

/// `limited` of the text: a value that may be multiplied.
inline float limited(float value) {
    const float most = as_float(kMostFloat);
    const float below = value > most ? most : value;
    return exact::exact_flush_operand(below < -most ? -most : below);
}

}  // namespace yolk::testing::random_words
