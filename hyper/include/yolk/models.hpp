// SPDX-License-Identifier: Apache-2.0
// Calls of language models in a graph. Each is a host call: it overlaps, retries, is timed and remembered as others
// are. Who answers is decided when it runs, by the models in force (Models).
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <stop_token>
#include <string>
#include <string_view>
#include <vector>

#include "yolk/internal/chat/message.hpp"
#include "yolk/internal/chat/schema.hpp"
#include "yolk/internal/hyper/control.hpp"
#include "yolk/internal/hyper/host_function.hpp"
#include "yolk/internal/hyper/traced_operations.hpp"
#include "yolk/result.hpp"

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

// Who answers model calls: models, routes to them by tag, and what is in force where a call is made.
namespace yolk::chat {
class Client;
}

namespace yolk::hyper {

/// Answers a request. Called from several threads at the same time; exceptions become errors of the call. The stop
/// token is asked when the call has timed out.
using Model = std::function<Result<chat::Answer>(const chat::Request& request, std::stop_token stop)>;
/// The client's answers (yolk/chat.hpp). It lives as long as the model.
[[nodiscard]] Model model_of(std::shared_ptr<const chat::Client> client);

/// What models were asked so far. Sums do not depend on the order in which answers arrive.
struct ModelCounts {
    std::uint64_t calls = 0;          ///< that have ended
    std::uint64_t failed = 0;         ///< of them, with an error
    std::uint64_t from_cache = 0;     ///< of them, answered without asking the server
    std::uint64_t prompt_tokens = 0;  ///< of answers, those from a cache included: the same run counts the same
    std::uint64_t completion_tokens = 0;
    double cost = 0.0;  ///< of those tokens, by the clients' prices; to 1e-12
};

/// Models and which calls go to which. Cheap to copy: copies are the same routes with the same counts. Thread-safe.
class Models {
   public:
    Models();
    /// For calls that no tag routes. A second one replaces the first.
    Models& otherwise(Model model);
    /// For calls that were traced under Tag(tag) (control.hpp). Of several tags the innermost that has a model counts.
    Models& on_tag(std::string tag, Model model);
    /// Whether there is a model for calls with these tags, outermost first.
    [[nodiscard]] bool answers(std::span<const std::string> tags) const;
    /// Errors: the model's, what it threw; no model for these tags.
    [[nodiscard]] Result<chat::Answer> call(std::span<const std::string> tags, const chat::Request& request,
                                            const std::stop_token& stop = {}) const;
    [[nodiscard]] ModelCounts counts() const;

   private:
    struct Shared;
    std::shared_ptr<Shared> shared_;
};

/// While it lives, model calls of this thread, and of host calls that this thread submits to a pool, go to these
/// models. Of several the innermost that has a model for the call's tags answers. Destroyed in the thread that made it,
/// in the reverse order. System::use puts a system's own ones beneath them.
class UseModels {
   public:
    [[nodiscard]] explicit UseModels(Models models);
    ~UseModels();
    UseModels(const UseModels&) = delete;
    UseModels& operator=(const UseModels&) = delete;
};

}  // namespace yolk::hyper
