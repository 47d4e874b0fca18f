// SPDX-License-Identifier: Apache-2.0
// Who answers model calls: models, routes to them by tag, and what is in force where a call is made.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <stop_token>
#include <string>

#include "yolk/chat/message.hpp"
#include "yolk/core/result.hpp"

namespace yolk::chat {
class Client;
}

namespace yolk::hyper {

/// Answers a request. Called from several threads at the same time; exceptions become errors of the call. The stop
/// token is asked when the call has timed out.
using Model = std::function<Result<chat::Answer>(const chat::Request& request, std::stop_token stop)>;
/// The client's answers (yolk/chat/client.hpp). It lives as long as the model.
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
