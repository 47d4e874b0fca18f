// SPDX-License-Identifier: Apache-2.0
// A chat-completions server on loopback for the tests and examples of systems over models: answers by a rule, and
// misbehaves where the rule says so. A thread for each connection, so that each misbehaviour is a few lines in a row.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "yolk/json.hpp"
#include "yolk/result.hpp"

namespace yolk::chat_server {

enum class Fault : std::uint8_t {
    None,
    Closed,          ///< closes without a byte
    Truncated,       ///< half of the body, then closes
    LengthTooShort,  ///< Content-Length of half of the body
    LengthTooLong,   ///< Content-Length beyond the body; the connection stays open
    Endless,         ///< a body without end and without a length
    EndlessHeaders,
    Garbage,  ///< not HTTP
};

struct Reply {
    std::string content{};  ///< the assistant's text
    int status = 200;
    Json message{};                     ///< the assistant's whole message, where it is more than a text
    std::optional<std::string> body{};  ///< sent as it is, in place of the protocol's
    std::vector<std::pair<std::string, std::string>> headers{};
    std::chrono::milliseconds delay{0};
    Fault fault = Fault::None;
    std::string finish_reason = "stop";
};

/// An error reply in OpenAI's form.
[[nodiscard]] Reply refuse(int status, std::string message, std::string parameter = {}, std::string code = {});

/// Called from the connections' threads, several at a time.
using Rule = std::function<Reply(const Json& request)>;

/// A connection's bytes; TLS is one of them. Errors close the connection.
class Stream {
   public:
    virtual ~Stream() = default;
    virtual long read(char* bytes, std::size_t count) = 0;  ///< 0 or less at the end
    virtual bool write(std::string_view bytes) = 0;
};

struct Options {
    Rule rule;
    std::size_t remembered = 64;  ///< the last requests that are kept
    /// Makes a stream of a socket that stays the server's; null closes it. Empty: plain.
    std::function<std::unique_ptr<Stream>(int socket)> wrap{};
};

struct Counts {
    std::uint64_t requests = 0;
    std::uint64_t connections = 0;
    std::uint32_t most_at_once = 0;  ///< requests that were being answered together
};

class Server {
   public:
    [[nodiscard]] static Result<Server> start(Options options);
    ~Server();  ///< closes every connection
    Server(Server&& other) noexcept;
    Server& operator=(Server&& other) noexcept;

    [[nodiscard]] std::uint16_t port() const;
    [[nodiscard]] std::string base_url(std::string_view scheme = "http") const;
    [[nodiscard]] Counts counts() const;
    /// Head and body as they came, the oldest first.
    [[nodiscard]] std::vector<std::string> requests() const;

   private:
    struct Impl;
    explicit Server(std::unique_ptr<Impl> impl);
    std::unique_ptr<Impl> impl_;
};

}  // namespace yolk::chat_server
