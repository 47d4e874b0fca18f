// SPDX-License-Identifier: Apache-2.0
// What BERT's tokenizers ask of Unicode. Every text is well-formed UTF-8.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace yolk::transformer {

/// The character that a text, which is not empty, begins with, and its bytes.
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

}  // namespace yolk::transformer
