// SPDX-License-Identifier: Apache-2.0
#include "unicode_text.hpp"

#include <utf8proc.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <memory>
#include <utility>
#include <vector>

namespace yolk::transformer {

Character first_character(std::string_view text) {
    utf8proc_int32_t code = 0;
    const auto* const bytes = reinterpret_cast<const utf8proc_uint8_t*>(text.data());
    const utf8proc_ssize_t size = utf8proc_iterate(bytes, static_cast<utf8proc_ssize_t>(text.size()), &code);
    return {.code = code, .bytes = text.substr(0, size < 1 ? 1 : static_cast<std::size_t>(size))};
}

void append_character(std::string& text, std::int32_t code) {
    std::array<utf8proc_uint8_t, 4> bytes{};
    const utf8proc_ssize_t size = utf8proc_encode_char(code, bytes.data());
    text.append(reinterpret_cast<const char*>(bytes.data()), static_cast<std::size_t>(size));
}

bool is_space(std::int32_t code) {
    return (code >= 0x9 && code <= 0xD) || code == 0x20 || code == 0x85 || code == 0xA0 || code == 0x1680 ||
           (code >= 0x2000 && code <= 0x200A) || code == 0x2028 || code == 0x2029 || code == 0x202F || code == 0x205F ||
           code == 0x3000;
}

bool is_unprintable(std::int32_t code) {
    if (code == '\t' || code == '\n' || code == '\r') return false;
    switch (utf8proc_category(code)) {
        case UTF8PROC_CATEGORY_CC:
        case UTF8PROC_CATEGORY_CF:
        case UTF8PROC_CATEGORY_CO: return true;
        default: return false;
    }
}

bool is_punctuation(std::int32_t code) {
    if (code < 0x80)
        return (code >= 33 && code <= 47) || (code >= 58 && code <= 64) || (code >= 91 && code <= 96) ||
               (code >= 123 && code <= 126);
    switch (utf8proc_category(code)) {
        case UTF8PROC_CATEGORY_PC:
        case UTF8PROC_CATEGORY_PD:
        case UTF8PROC_CATEGORY_PS:
        case UTF8PROC_CATEGORY_PE:
        case UTF8PROC_CATEGORY_PI:
        case UTF8PROC_CATEGORY_PF:
        case UTF8PROC_CATEGORY_PO: return true;
        default: return false;
    }
}

bool is_ideograph(std::int32_t code) {
    constexpr std::array<std::pair<std::int32_t, std::int32_t>, 8> kBlocks{{{0x4E00, 0x9FFF},
                                                                            {0x3400, 0x4DBF},
                                                                            {0x20000, 0x2A6DF},
                                                                            {0x2A700, 0x2B73F},
                                                                            {0x2B740, 0x2B81F},
                                                                            {0x2B920, 0x2CEAF},
                                                                            {0xF900, 0xFAFF},
                                                                            {0x2F800, 0x2FA1F}}};
    return std::ranges::any_of(kBlocks, [&](const auto& block) { return code >= block.first && code <= block.second; });
}

bool is_letter(std::int32_t code) {
    const utf8proc_category_t category = utf8proc_category(code);
    return category >= UTF8PROC_CATEGORY_LU && category <= UTF8PROC_CATEGORY_LO;
}

bool is_number(std::int32_t code) {
    const utf8proc_category_t category = utf8proc_category(code);
    return category >= UTF8PROC_CATEGORY_ND && category <= UTF8PROC_CATEGORY_NO;
}

std::string composed(std::string_view text) {
    utf8proc_uint8_t* made = nullptr;
    const utf8proc_ssize_t size =
        utf8proc_map(reinterpret_cast<const utf8proc_uint8_t*>(text.data()), static_cast<utf8proc_ssize_t>(text.size()),
                     &made, static_cast<utf8proc_option_t>(UTF8PROC_STABLE | UTF8PROC_COMPOSE));
    const std::unique_ptr<utf8proc_uint8_t, decltype(&std::free)> owner(made, &std::free);
    if (size < 0) return std::string(text);  // of UTF-8 only where memory is out
    return std::string(reinterpret_cast<const char*>(made), static_cast<std::size_t>(size));
}

std::string without_accents(std::string_view text) {
    const auto* const bytes = reinterpret_cast<const utf8proc_uint8_t*>(text.data());
    const auto size = static_cast<utf8proc_ssize_t>(text.size());
    std::vector<utf8proc_int32_t> codes(text.size() + 8);
    utf8proc_ssize_t count = 0;
    // The second time it has the room that the first one asked for.
    for (int attempt = 0; attempt < 2; ++attempt) {
        count = utf8proc_decompose(bytes, size, codes.data(), static_cast<utf8proc_ssize_t>(codes.size()),
                                   UTF8PROC_DECOMPOSE);
        if (count <= static_cast<utf8proc_ssize_t>(codes.size())) break;
        codes.resize(static_cast<std::size_t>(count));
    }
    std::string plain;
    for (std::size_t i = 0; i < static_cast<std::size_t>(std::max<utf8proc_ssize_t>(count, 0)); ++i) {
        if (utf8proc_category(codes[i]) != UTF8PROC_CATEGORY_MN) append_character(plain, codes[i]);
    }
    return plain;
}

std::string lower_case(std::string_view text) {
    constexpr std::int32_t kDottedCapitalI = 0x130;  // the one letter whose lower case is two characters
    std::string lower;
    while (!text.empty()) {
        const Character next = first_character(text);
        text.remove_prefix(next.bytes.size());
        if (next.code == kDottedCapitalI) {
            lower += "i\xCC\x87";
        } else {
            append_character(lower, utf8proc_tolower(next.code));
        }
    }
    return lower;
}

}  // namespace yolk::transformer
