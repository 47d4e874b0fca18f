// SPDX-License-Identifier: Apache-2.0
// A server with a rule, a client of it, and a folder.
#pragma once

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <atomic>
#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <set>
#include <thread>

#include "yolk/chat.hpp"
#include "yolk/chat_server.hpp"
#include "yolk/json.hpp"

namespace yolk::chat {

class LoopbackTest : public testing::Test {
   protected:
    static constexpr const char* kKeyVariable = "YOLK_CHAT_TEST_KEY";
    static constexpr const char* kKey = "sk-test-0123456789abcdefghij";

    void SetUp() override {
        folder_ = std::filesystem::temp_directory_path() / ("yolk-chat-test-" + std::to_string(::getpid()));
        std::filesystem::create_directories(folder_);
        ::setenv(kKeyVariable, kKey, 1);  // NOLINT(concurrency-mt-unsafe): no other thread runs yet
    }
    void TearDown() override {
        server_.reset();
        std::filesystem::remove_all(folder_);
    }
    void serve(chat_server::Rule rule) { serve({.rule = std::move(rule)}); }
    void serve(chat_server::Options options) {
        server_.reset();
        Result<chat_server::Server> started = chat_server::Server::start(std::move(options));
        ASSERT_TRUE(started) << started.error().message;
        server_ = *std::move(started);
    }
    void close_server() { server_.reset(); }
    [[nodiscard]] chat_server::Server& server() { return *server_; }
    /// A client of the server, unless the options name another, with short pauses.
    [[nodiscard]] Client connect(ClientOptions options = {}) {
        if (options.base_url == ClientOptions().base_url) options.base_url = server_->base_url();
        options.key_variable = kKeyVariable;
        options.model = "toy";
        options.backoff_seconds = 0.002;
        Result<Client> made = Client::create(std::move(options));
        EXPECT_TRUE(made) << (made ? "" : made.error().message);
        return *std::move(made);
    }
    [[nodiscard]] static Request saying(std::string text) { return {.messages = {{"user", std::move(text)}}}; }
    static void expect_says(const Result<Answer>& answer, ErrorKind kind, std::string_view part) {
        ASSERT_FALSE(answer) << answer->content;
        EXPECT_EQ(answer.error().kind, kind) << answer.error().message;
        EXPECT_THAT(answer.error().message, testing::HasSubstr(std::string(part)));
    }
    std::filesystem::path folder_;

   private:
    std::optional<chat_server::Server> server_;
};

}  // namespace yolk::chat
