// SPDX-License-Identifier: Apache-2.0
// Calls of language models over the chat-completions protocol. One thread of the client's drives all of its
// connections, so that a thousand calls need no thousand threads. docs/chat.md says what is retried, and where the key
// goes.
#pragma once

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <span>
#include <stop_token>
#include <string>
#include <vector>

#include "yolk/internal/chat/cache.hpp"
#include "yolk/internal/chat/message.hpp"
#include "yolk/result.hpp"

namespace yolk::chat {

/// In any currency, per million tokens.
struct Prices {
    double prompt = 0.0;
    double completion = 0.0;
};

struct ClientOptions {
    /// Requests go to base_url + "/chat/completions", with its parameters behind (?api-version=...). https; plain http
    /// to loopback hosts, and to others without a key.
    std::string base_url = "https://api.openai.com/v1";
    /// The environment variable that has the key; empty for a server that wants none. Loopback hosts may go without.
    std::string key_variable = "OPENAI_API_KEY";
    std::string model{};  ///< of requests that name none
    std::chrono::milliseconds timeout{
        120'000};  ///< of a call with its retries, from the moment its first attempt begins
    std::chrono::milliseconds attempt_timeout{0};  ///< of one attempt, which may then be tried again; 0: the call's
    std::uint32_t attempts = 5;                    ///< at most, of one call
    /// Replies of one call, out of its attempts, that may fail its schema, or be without a text, before it fails.
    std::uint32_t schema_attempts = 3;
    std::uint32_t most_at_once = 16;              ///< requests under way at a time; the rest waits for a turn
    std::optional<double> requests_per_minute{};  ///< that leave, retries included
    std::optional<double> tokens_per_minute{};    ///< estimated when a request leaves, corrected by its answer's usage
    std::filesystem::path cache{};  ///< a file of answers (cache.hpp), created if missing; empty: no cache
    std::uint64_t most_reply_bytes = std::uint64_t{16} << 20U;  ///< a larger reply is an error, and is not read on
    double backoff_seconds = 0.5;  ///< before the second attempt, or the server's time if longer; doubles from there
    std::uint64_t seed = 0;        ///< of the backoffs' jitter
    Prices prices{};
    std::string max_tokens_name = "max_tokens";  ///< some servers want "max_completion_tokens"
    /// A PEM file of authorities to trust, in place of the system's. Certificates are always verified.
    std::filesystem::path certificates{};
    std::string user_agent{};  ///< empty: yolk and its version
};

/// Since the client was made.
struct CallCounts {
    std::uint64_t calls = 0;            ///< that were started
    std::uint64_t answered = 0;         ///< of them, with an answer
    std::uint64_t failed = 0;           ///< with an error, cancelled ones included
    std::uint64_t from_cache = 0;       ///< answered from the file, or by an equal call that was under way
    std::uint64_t attempts = 0;         ///< requests that were sent
    std::uint64_t retries = 0;          ///< of them, after a call's first
    std::uint64_t schema_failures = 0;  ///< replies that were not of their schema
    std::uint64_t cache_failures = 0;   ///< answers that could not be written to the cache; a notice names the first
    std::uint64_t prompt_tokens = 0;    ///< of all replies that say so, rejected ones included
    std::uint64_t completion_tokens = 0;
    double cost = 0.0;               ///< by ClientOptions::prices
    std::uint32_t most_at_once = 0;  ///< requests that were under way together
    double processor_seconds = 0.0;  ///< of the client's thread
};

enum class CacheUse : std::uint8_t {
    ReadWrite,
    Refresh,  ///< asks the server, and replaces what the cache has
    Off,
};

struct CallOptions {
    CacheUse cache = CacheUse::ReadWrite;
    std::stop_token stop{};  ///< ends the call with an error (Cancelled)
};

/// A call that was started. Copies are the same call. Dropping it does not cancel it.
class PendingCall {
   public:
    [[nodiscard]] bool ready() const;
    /// Blocks until there is an answer or an error. May be called again, from any thread.
    [[nodiscard]] Result<Answer> wait() const;
    /// The call ends with an error (Cancelled) unless it has already ended; its connection is closed.
    void cancel() const;

   private:
    friend class Client;
    struct Shared;
    explicit PendingCall(std::shared_ptr<Shared> shared) : shared_(std::move(shared)) {}
    std::shared_ptr<Shared> shared_;
};

/// Thread-safe. Destroying it cancels what is pending. Errors of calls:
///   BadInput   the request, or what the server refused (a status of 4xx, with the server's words); a redirect
///   Failed     the deadline; replies that are not of the schema; a refusal of the model; no answer because of the
///              limit of tokens, a content filter or a call of a tool, none of which is asked for again
///   Io         the server cannot be reached, its certificate is not trusted, its replies cannot be used; the cache
///   Cancelled  by the caller
/// Each says how many attempts there were. What is retried: 408, 429, 5xx, broken connections, replies that are not the
/// protocol's. `native` has the HTTP status, where there was one.
class Client {
   public:
    /// Errors: BadInput names the option; a key that is missing, Io for the cache.
    [[nodiscard]] static Result<Client> create(ClientOptions options);
    ~Client();
    Client(Client&& other) noexcept;
    Client& operator=(Client&& other) noexcept;

    [[nodiscard]] PendingCall start(const Request& request, const CallOptions& options = {}) const;
    [[nodiscard]] Result<Answer> call(const Request& request, const CallOptions& options = {}) const;
    /// The results in the order of the requests, whatever the order in which answers arrive. One failure leaves the
    /// others alone.
    [[nodiscard]] std::vector<Result<Answer>> call_all(std::span<const Request> requests,
                                                       const CallOptions& options = {}) const;
    [[nodiscard]] CallCounts counts() const;
    [[nodiscard]] const ClientOptions& options() const noexcept;

   private:
    struct Impl;
    explicit Client(std::unique_ptr<Impl> impl);
    std::unique_ptr<Impl> impl_;
};

}  // namespace yolk::chat
