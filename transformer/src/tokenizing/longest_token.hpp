// SPDX-License-Identifier: Apache-2.0
// Tokens that a tokenizer finds before it splits a text.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>

namespace yolk::transformer {

/// The longest of the tokens (text and id) with which `text` begins; nullptr for none.
template <class Tokens>
[[nodiscard]] const std::pair<std::string, std::uint32_t>* longest_at_beginning(const Tokens& tokens,
                                                                                std::string_view text) {
    const std::pair<std::string, std::uint32_t>* found = nullptr;
    for (const auto& token : tokens) {
        if (text.starts_with(token.first) && (found == nullptr || token.first.size() > found->first.size()))
            found = &token;
    }
    return found;
}

}  // namespace yolk::transformer
