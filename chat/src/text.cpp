// SPDX-License-Identifier: Apache-2.0
#include "text.hpp"

#include <cstdint>

namespace yolk::chat {

std::string excerpt(std::string_view text, std::size_t most_bytes) {
    if (text.empty()) return "'' (nothing)";
    std::string result = "'";
    std::size_t at = 0;
    while (at < text.size()) {
        const std::size_t size = utf8_character_size(text.substr(at));
        if (at + (size == 0 ? 1 : size) > most_bytes) break;
        const auto first = static_cast<std::uint8_t>(text[at]);
        if (size == 0 || first < 0x20 || first == 0x7F) {
            result += first == '\n' || first == '\t' || first == '\r' ? ' ' : '?';
        } else {
            result.append(text.substr(at, size));
        }
        at += size == 0 ? 1 : size;
    }
    result += '\'';
    if (at < text.size()) result += "...";
    return result;
}

}  // namespace yolk::chat
