// SPDX-License-Identifier: Apache-2.0
#include "yolk/internal/core/markup.hpp"

#include "yolk/json.hpp"

namespace yolk {

std::string markup_text(std::string_view text) {
    // Through JSON: what is no UTF-8 is replaced on the way out.
    const std::string valid = parse_json(to_line(Json(text)), "a text").value().get<std::string>();
    std::string escaped;
    for (const char c : valid) {
        switch (c) {
            case '&': escaped += "&amp;"; break;
            case '<': escaped += "&lt;"; break;
            case '>': escaped += "&gt;"; break;
            case '"': escaped += "&quot;"; break;
            case '\'': escaped += "&#39;"; break;
            default: escaped += static_cast<unsigned char>(c) < 0x20U || c == 0x7F ? ' ' : c;
        }
    }
    return escaped;
}

}  // namespace yolk
