// SPDX-License-Identifier: Apache-2.0
#include "text.hpp"

#include <algorithm>
#include <cstdint>

#include "yolk/internal/chat/message.hpp"

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

bool starts_with_thoughts(std::string_view content) noexcept {
    content.remove_prefix(std::min(content.find_first_not_of(" \t\r\n"), content.size()));
    return content.starts_with("<think>") || content.starts_with("<thinking>");
}

std::string_view without_thoughts(std::string_view content) noexcept {
    std::size_t end = 0;
    for (const std::string_view mark : {std::string_view("</think>"), std::string_view("</thinking>")}) {
        const std::size_t at = content.rfind(mark);
        if (at != std::string_view::npos) end = std::max(end, at + mark.size());
    }
    return end == 0 && starts_with_thoughts(content) ? std::string_view() : content.substr(end);
}

}  // namespace yolk::chat
