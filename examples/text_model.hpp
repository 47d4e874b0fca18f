// SPDX-License-Identifier: Apache-2.0
// Who answers the model calls of examples 14 to 16, and what their servers of rules have in common.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "yolk/chat_server.hpp"
#include "yolk/models.hpp"

namespace text_example {

/// A server on loopback in this process, that answers by the rule; with OPENAI_BASE_URL set, that endpoint, with the
/// key in OPENAI_API_KEY, and the model that `--model NAME` in front of the command names. Takes that flag out of the
/// arguments. Nothing: what is wrong was said on standard error.
[[nodiscard]] std::optional<yolk::hyper::Models> open_models(int& argc, char**& argv, yolk::chat_server::Rule rule);

// What rules read of a request, and reply.

/// The content of the last message of this role; empty for none.
[[nodiscard]] std::string content_of(const yolk::Json& request, std::string_view role);
/// A setting that is a number; `otherwise` where it was not sent.
[[nodiscard]] double setting(const yolk::Json& request, const char* name, double otherwise);
/// In [0, 1), by the text alone: the luck of sampling, the same in every run.
[[nodiscard]] double luck(std::string_view text);
[[nodiscard]] inline bool has(std::string_view text, std::string_view part) { return text.find(part) != text.npos; }
[[nodiscard]] yolk::chat_server::Reply says(std::string content);

/// What the house's reflection prompt tells about a component.
struct Reflection {
    std::string component{};
    std::string text{};     ///< its text now
    std::string records{};  ///< what it was given and gave, and the feedback
};
/// Nothing: the request does not ask for reflection.
[[nodiscard]] std::optional<Reflection> reflection_in(const yolk::Json& request);
/// The text with one more sentence, or as it was where that is empty.
[[nodiscard]] yolk::chat_server::Reply improved(const Reflection& reflection, std::string_view sentence);

}  // namespace text_example
