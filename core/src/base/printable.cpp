// SPDX-License-Identifier: Apache-2.0
#include "yolk/internal/core/printable.hpp"

#include <fmt/format.h>

#include <cstdint>

#include "yolk/internal/core/utf8.hpp"

namespace yolk {
namespace {

/// Of a well-formed character.
std::uint32_t code_point(std::string_view character) {
    const auto byte = [&](std::size_t i) {
        return static_cast<std::uint32_t>(static_cast<unsigned char>(character[i]));
    };
    if (character.size() == 1) return byte(0);
    std::uint32_t code = byte(0) & (0xFFU >> (character.size() + 1));
    for (std::size_t i = 1; i < character.size(); ++i) code = (code << 6U) | (byte(i) & 0x3FU);
    return code;
}

bool steers(std::uint32_t code) {
    const bool control = code < 0x20 || (code >= 0x7F && code < 0xA0);
    const bool turns = (code >= 0x202A && code <= 0x202E) || (code >= 0x2066 && code <= 0x2069);
    const bool separates = code == 0x2028 || code == 0x2029;
    return control || turns || separates;
}

void append_escape(std::string& out, std::uint32_t code) {
    switch (code) {
        case '\n': out += "\\n"; return;
        case '\t': out += "\\t"; return;
        case '\r': out += "\\r"; return;
        default: break;
    }
    out += code < 0x80 ? fmt::format("\\x{:02x}", code) : fmt::format("\\u{:04x}", code);
}

/// `newline` is what a newline becomes; empty: it is escaped, and tabs are, too.
std::string escaped(std::string_view text, std::string_view newline) {
    std::string out;
    out.reserve(text.size());
    while (!text.empty()) {
        const std::size_t size = utf8_character_size(text);
        if (size == 0) {
            out += fmt::format("\\x{:02x}", static_cast<unsigned char>(text.front()));
            text.remove_prefix(1);
            continue;
        }
        const std::uint32_t code = code_point(text.substr(0, size));
        if (code == '\n' && !newline.empty()) {
            out += newline;
        } else if (steers(code) && !(code == '\t' && !newline.empty())) {
            append_escape(out, code);
        } else {
            out += text.substr(0, size);
        }
        text.remove_prefix(size);
    }
    return out;
}

}  // namespace

std::string shown(std::string_view name) { return escaped(name, {}); }
std::string shown(const std::filesystem::path& path) { return escaped(path.native(), {}); }
std::string shown(const std::string& name) { return escaped(name, {}); }
std::string shown(const char* name) { return escaped(name, {}); }
std::string printable(std::string_view text) { return escaped(text, "\n"); }
std::string printable_message(std::string_view message) { return escaped(message, "\n  "); }

}  // namespace yolk
