// SPDX-License-Identifier: Apache-2.0
// Where calls go, and what signs them. The key is here and in no other place.
#pragma once

#include <curl/curl.h>

#include <memory>
#include <string>

#include "yolk/chat.hpp"
#include "yolk/internal/chat/secret.hpp"

namespace yolk::chat {

struct FreeHeaders {
    void operator()(curl_slist* list) const noexcept;
};

struct Endpoint {
    std::string url;        ///< of chat/completions, without its parameters: what messages name
    std::string query;      ///< its parameters, from the '?' on; empty: none
    bool loopback = false;  ///< no proxy is asked
    Secret key;             ///< empty: requests are not signed
    std::unique_ptr<curl_slist, FreeHeaders> headers;
    std::string user_agent;
    std::string certificates;
};

/// Errors (BadInput): the URL or the key, or that the one must not have the other.
[[nodiscard]] Result<Endpoint> make_endpoint(const ClientOptions& options);

}  // namespace yolk::chat
