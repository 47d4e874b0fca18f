// SPDX-License-Identifier: Apache-2.0
// A server of models on loopback that answers by rule, and models that ask it.
#pragma once

#include <gtest/gtest.h>

#include <cstdlib>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "yolk/chat.hpp"
#include "yolk/chat_server.hpp"
#include "yolk/json.hpp"
#include "yolk/models.hpp"

namespace yolk::hyper {

inline constexpr const char* kModelKeyVariable = "YOLK_HYPER_TEST_KEY";
inline constexpr const char* kModelKey = "sk-hyper-0123456789abcdefghij";

/// The content of a request's last message.
inline std::string said(const Json& request) { return request["messages"].back()["content"].get<std::string>(); }
/// "role: content" of all of them, with a bar between.
inline std::string messages_of(const Json& request) {
    std::string all;
    for (const Json& message : request["messages"]) {
        all += (all.empty() ? "" : " | ") + message["role"].get<std::string>() + ": " +
               message["content"].get<std::string>();
    }
    return all;
}
inline chat_server::Reply says(std::string content) { return {.content = std::move(content)}; }

class ModelServer {
   public:
    explicit ModelServer(chat_server::Rule rule) {
        ::setenv(kModelKeyVariable, kModelKey, 1);  // NOLINT(concurrency-mt-unsafe): no thread reads it meanwhile
        auto started = chat_server::Server::start({.rule = [rule = std::move(rule), seen = seen_](const Json& request) {
            {
                const std::lock_guard lock(seen->mutex);
                seen->requests.push_back(messages_of(request));
            }
            return rule(request);
        }});
        EXPECT_TRUE(started) << (started ? "" : started.error().message);
        server_ = *std::move(started);
    }
    [[nodiscard]] Model model(chat::ClientOptions options = {}) const {
        options.base_url = server_->base_url();
        options.key_variable = kModelKeyVariable;
        options.model = "toy";
        options.attempts = 2;
        options.schema_attempts = 2;
        options.backoff_seconds = 0.002;
        auto client = chat::Client::create(std::move(options));
        EXPECT_TRUE(client) << (client ? "" : client.error().message);
        return client ? model_of(std::make_shared<const chat::Client>(*std::move(client))) : Model();
    }
    [[nodiscard]] Models models() const { return Models().otherwise(model()); }
    /// What it was asked, in the order of arrival, since it was asked for last.
    [[nodiscard]] std::vector<std::string> asked() const {
        const std::lock_guard lock(seen_->mutex);
        return std::exchange(seen_->requests, {});
    }

   private:
    struct Seen {
        std::mutex mutex{};
        std::vector<std::string> requests{};
    };
    std::shared_ptr<Seen> seen_ = std::make_shared<Seen>();
    std::optional<chat_server::Server> server_{};
};

}  // namespace yolk::hyper
