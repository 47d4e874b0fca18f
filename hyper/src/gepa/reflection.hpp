// SPDX-License-Identifier: Apache-2.0
// What the reflecting model reads, and the new text in what it answers.
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "yolk/internal/chat/message.hpp"
#include "yolk/prompts.hpp"
#include "yolk/result.hpp"

namespace yolk::hyper::prompts {

/// Markdown: an example each, with "Inputs", a "Call" for each of its calls, "Generated Outputs", "Score" and
/// "Feedback"; records have a heading per field. Where a call was given `text` as it is, that is said in its place.
[[nodiscard]] std::string records_text(std::span<const TextRecord> records, std::string_view text);

/// The prompt with its places filled in. What is filled in is not looked through for places again.
[[nodiscard]] std::string filled_in(std::string_view prompt, std::string_view component, std::string_view text,
                                    std::string_view records);

/// `number` tells requests apart that are otherwise the same, so that a cache does not answer all of them alike.
[[nodiscard]] chat::Request reflection_request(const GepaOptions& options, std::string_view component,
                                               std::string_view text, std::span<const TextRecord> records,
                                               std::uint32_t number);

/// Between the first ``` and the last, without a language tag (a first line of one word); without such a pair, the
/// reply without the fence that it begins or ends with. White space around it is left out. Errors, Failed: nothing is
/// left; the reply was cut before its fence was closed.
[[nodiscard]] Result<std::string> new_text_in(const chat::Answer& answer);

}  // namespace yolk::hyper::prompts
