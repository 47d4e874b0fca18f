// SPDX-License-Identifier: Apache-2.0
// Calls of language models in a graph. Each is a host call: it overlaps, retries, is timed and remembered as others
// are. Who answers is decided when it runs, by the models in force (models.hpp).
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "yolk/chat/schema.hpp"
#include "yolk/core/result.hpp"
#include "yolk/hyper/control.hpp"
#include "yolk/hyper/host_function.hpp"
#include "yolk/hyper/traced_operations.hpp"

namespace yolk::hyper {

struct ChatMessage {
    std::string role;  ///< system, developer, user or assistant
    Traced content;    ///< text
};
using ChatMessages = std::vector<ChatMessage>;

/// How a model is called. What is not set is not sent. Numbers may depend on parameters; outside their bounds they
/// count as the nearest bound.
struct ModelSettings {
    std::string model{};                        ///< empty: the client's
    std::optional<Traced> temperature{};        ///< 0 to 2
    std::optional<Traced> top_p{};              ///< 0 to 1
    std::optional<Traced> presence_penalty{};   ///< -2 to 2
    std::optional<Traced> frequency_penalty{};  ///< -2 to 2
    std::optional<Traced> max_tokens{};         ///< at least 1; rounded
    std::optional<Traced> seed{};               ///< a whole number
    std::vector<std::string> stop{};
    /// All the numbers of an LmParam at once: [5], as the traced body of a hyperfunction over it gets them, or [6] of
    /// an LmTokenParam, whose top_k the protocol has no word for. Settings of their own come before it.
    std::optional<Traced> sampling{};
    std::int64_t token_limit = 4096;  ///< what LmParam::max_tokens_fraction is a fraction of
    HostOptions host{};               ///< as of any host function, beside what the client retries by itself
    /// What a dry run takes for the answer; unset: an empty text, a blank record with each enumeration's first word.
    std::optional<Value> stand_in{};
};
/// The settings that a hyperfunction over LmParam or LmTokenParam has in its `parameters`.
[[nodiscard]] inline ModelSettings sampled_by(const Traced& parameters) { return {.sampling = parameters}; }

/// The reply's text. Tags in force (Tag) route it. Outside any trace it is made at once. Errors stick in the tracer, as
/// those of operations do: no message, an unknown role, content that is no text, a setting that is no number.
[[nodiscard]] Traced model_call(const ChatMessages& messages, const ModelSettings& settings = {},
                                Line line = Line::current());
/// The reply's fields, as a record: text (strings, enumerations), numbers, booleans, records (documents), and tensors
/// [n] of lists of numbers or booleans, whose length may not differ from candidate to candidate. Errors: also a schema
/// with other lists, or one that cannot be asked for (chat::check_schema).
[[nodiscard]] Traced schema_call(const chat::Schema& schema, const ChatMessages& messages,
                                 const ModelSettings& settings = {}, Line line = Line::current());

/// What `HostFunction::model` says of a call. Operands behind the parameters: a number for each of `settings`, a text
/// for each of `roles`, then `guards` texts.
struct ModelCall {
    std::string model{};
    std::vector<std::string> roles{};
    std::vector<std::string> settings{};  ///< "temperature", "top_p", ...
    std::vector<std::string> stop{};
    std::vector<std::string> tags{};       ///< in force where it was traced, outermost first
    std::optional<chat::Schema> schema{};  ///< of a schema_call
    std::int64_t token_limit = 4096;
    /// Where there are some and all are empty, no call is made, and the answer is blank: nothing moves.
    std::size_t guards = 0;

    [[nodiscard]] std::size_t first_message() const noexcept { return 1 + settings.size(); }  ///< among all operands
};

/// The host function of such a call. Equal ones are one function: examples that make the same calls are one batch, and
/// memos know them. Errors: a schema that a record cannot hold.
[[nodiscard]] Result<HostFunctionPtr> model_function(ModelCall call, HostOptions options = {},
                                                     std::optional<Value> stand_in = {});

/// What pullback asks a model about each message of a call: the system's words. The user's are kCritiqueQuestion with
/// the message, the output and the feedback in its places. A rule of your own for the hyperfunction
/// (PullbackOptions::hyperfunctions) takes their place.
inline constexpr std::string_view kCritiqueInstruction =
    "You are given an input of a language model, what the model answered, and feedback on the answer. Say what about "
    "the input should change so that the answer would meet the feedback. Reply with that feedback on the input alone, "
    "in a few plain sentences.";
inline constexpr std::string_view kCritiqueQuestion = "Input:\n{}\n\nOutput:\n{}\n\nFeedback on the output:\n{}";

}  // namespace yolk::hyper
