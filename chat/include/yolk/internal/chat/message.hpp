// SPDX-License-Identifier: Apache-2.0
// A request to a language model and its answer, in the words of the chat-completions protocol.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "yolk/internal/chat/schema.hpp"
#include "yolk/json.hpp"

namespace yolk::chat {

struct Message {
    std::string role;     ///< system, developer, user or assistant
    std::string content;  ///< UTF-8
};

/// What is not set is not sent, and the server's default holds. A value outside its bounds is sent as the nearest
/// bound: a search over settings is unbounded, and only what leaves must be legal. Not a number is an error.
struct Request {
    std::string model{};  ///< empty: the client's
    std::vector<Message> messages{};
    std::optional<double> temperature{};        ///< 0 to 2
    std::optional<double> top_p{};              ///< 0 to 1
    std::optional<double> presence_penalty{};   ///< -2 to 2
    std::optional<double> frequency_penalty{};  ///< -2 to 2
    std::optional<std::int64_t> max_tokens{};   ///< at least 1
    std::vector<std::string> stop{};
    std::optional<std::int64_t> seed{};
    std::optional<Schema> schema{};  ///< the reply is JSON of this form; a document (check_schema)
    /// Never sent: requests that differ in it alone have entries of their own in the cache, so that one may draw
    /// several samples and draw the same ones again.
    std::uint32_t sample = 0;
};

struct Usage {
    std::uint64_t prompt_tokens = 0;
    std::uint64_t completion_tokens = 0;
};

struct Answer {
    std::string content{};
    Json value{};                 ///< with a schema: the content, parsed and checked; null otherwise
    std::string finish_reason{};  ///< "stop", "length", ...; empty where the server gives none
    Usage usage{};                ///< as the server counted the reply that was taken; zeros where it does not count
    bool from_cache = false;
    std::uint32_t attempts = 0;  ///< requests that were sent for it; 0 from the cache
    double seconds = 0.0;        ///< from the first attempt to the answer
    double cost = 0.0;  ///< of the usage, by ClientOptions::prices; from the cache, too, though nothing is paid
};

/// What follows a model's thoughts, <think>...</think> or <thinking>...</thinking>, whose beginning may be missing; all
/// of the text where there are none. Empty where they do not end.
[[nodiscard]] std::string_view without_thoughts(std::string_view content) noexcept;

}  // namespace yolk::chat
