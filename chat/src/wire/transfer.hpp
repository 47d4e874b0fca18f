// SPDX-License-Identifier: Apache-2.0
// One request over libcurl and what came back. Reused, with its connection.
#pragma once

#include <curl/curl.h>

#include <array>
#include <memory>
#include <string>

#include "endpoint.hpp"
#include "retry.hpp"

namespace yolk::chat {

/// What arrived before the transfer ended, in good order or not.
struct Received {
    CURLcode code = CURLE_OK;
    long status = 0;  ///< 0: no reply
    std::string body{};
    Headers headers{};  ///< those that are looked at
    bool too_large = false;
    std::string curl_error{};
};

class Transfer {
   public:
    Transfer(const Endpoint& endpoint, std::uint64_t most_reply_bytes);
    Transfer(const Transfer&) = delete;
    Transfer& operator=(const Transfer&) = delete;

    /// `body` must live until the transfer has ended.
    void prepare(const std::string& body, long timeout_milliseconds);
    [[nodiscard]] CURL* handle() const noexcept { return easy_.get(); }
    [[nodiscard]] Received take(CURLcode code);

   private:
    struct Cleanup {
        void operator()(CURL* easy) const noexcept { curl_easy_cleanup(easy); }
    };
    static std::size_t on_body(char* bytes, std::size_t size, std::size_t count, void* self) noexcept;
    static std::size_t on_header(char* bytes, std::size_t size, std::size_t count, void* self) noexcept;

    std::uint64_t most_reply_bytes_;
    std::uint64_t header_bytes_ = 0;
    Received received_;
    std::array<char, CURL_ERROR_SIZE> error_{};
    std::unique_ptr<CURL, Cleanup> easy_;
};

}  // namespace yolk::chat
