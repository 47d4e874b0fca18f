// SPDX-License-Identifier: Apache-2.0
// The bytes of a request: bounds, checks, the canonical text.
#pragma once

#include <string>
#include <string_view>

#include "yolk/internal/chat/message.hpp"
#include "yolk/internal/chat/secret.hpp"

namespace yolk::chat {

struct BodySettings {
    std::string_view model;            ///< of requests that name none
    std::string_view max_tokens_name;  ///< what the server calls the limit
    const Secret& key;                 ///< refused in messages
};

/// JSON in one line, fields in a fixed order: equal requests give equal bytes. Errors (BadInput) name the field.
[[nodiscard]] Result<std::string> request_body(const Request& request, const BodySettings& settings);

/// What a request is taken to cost before its answer says so: four bytes of a prompt are about a token, and the answer
/// may be as long as is allowed.
[[nodiscard]] double estimated_tokens(const Request& request);

}  // namespace yolk::chat
