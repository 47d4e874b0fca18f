// SPDX-License-Identifier: Apache-2.0
// What tokenizers ask of Unicode. Every text is well-formed UTF-8.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace yolk::transformer {

/// The character that a text, which is not empty, begins with, and its bytes. One byte below 0 where it is no UTF-8.
struct Character {
    std::int32_t code = 0;
    std::string_view bytes;
};
[[nodiscard]] Character first_character(std::string_view text);
void append_character(std::string& text, std::int32_t code);

[[nodiscard]] bool is_space(std::int32_t code);  ///< Unicode's White_Space
[[nodiscard]] bool is_unprintable(
    std::int32_t code);  ///< a control or format character, private use; not tab and ends of lines
[[nodiscard]] bool is_punctuation(std::int32_t code);  ///< and every symbol of ASCII
[[nodiscard]] bool is_ideograph(std::int32_t code);    ///< of the blocks that BERT takes for Chinese

/// Decomposed canonically (NFD), without marks that take no space.
[[nodiscard]] std::string without_accents(std::string_view text);
[[nodiscard]] std::string lower_case(std::string_view text);
[[nodiscard]] std::string composed(std::string_view text);  ///< NFC
[[nodiscard]] bool is_letter(std::int32_t code);            ///< of a category L
[[nodiscard]] bool is_number(std::int32_t code);            ///< of a category N

}  // namespace yolk::transformer
