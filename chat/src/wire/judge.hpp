// SPDX-License-Identifier: Apache-2.0
// What a reply means: an answer, a reason to try again, or the end. A pure function of what arrived.
#pragma once

#include <optional>

#include "transfer.hpp"

namespace yolk::chat {

struct Verdict {
    enum class Kind : std::uint8_t {
        Answered,
        Retry,
        Schema,    ///< a reply that is not of its schema
        Unusable,  ///< a whole reply without a text, and without a reason that will stay
        Final,     ///< it would be the same again
    };
    Kind kind = Kind::Final;
    Answer answer{};                        ///< Answered; of the others only `usage`
    Error error{};                          ///< all but Answered
    std::optional<double> delay_seconds{};  ///< Retry: what the server asks for
};

[[nodiscard]] Verdict judge(const Received& received, const Endpoint& endpoint, const std::optional<Schema>& schema,
                            std::uint64_t most_reply_bytes);

}  // namespace yolk::chat
