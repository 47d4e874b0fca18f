// SPDX-License-Identifier: Apache-2.0
// Foreign texts made fit for a message.
#pragma once

#include <string>
#include <string_view>

#include "yolk/internal/core/utf8.hpp"

namespace yolk::chat {

inline constexpr std::size_t kExcerptBytes = 200;

/// The text's beginning in quotation marks, control characters and bytes that are not UTF-8 as '?', "..." where it was
/// cut. Remove a key from the text first: a cut may leave a part of it.
[[nodiscard]] std::string excerpt(std::string_view text, std::size_t most_bytes = kExcerptBytes);

/// A model's thoughts, whether they end or not.
[[nodiscard]] bool starts_with_thoughts(std::string_view content) noexcept;

}  // namespace yolk::chat
