// SPDX-License-Identifier: Apache-2.0
#include "endpoint.hpp"

#include <string.h>

#include <algorithm>
#include <array>
#include <cstdlib>

#include "text.hpp"
#include "yolk/internal/core/file.hpp"

namespace yolk::chat {
namespace {

constexpr std::string_view kPath = "/chat/completions";

struct FreeUrl {
    void operator()(CURLU* url) const noexcept { curl_url_cleanup(url); }
};

std::string part_of(CURLU* url, CURLUPart part) {
    char* text = nullptr;
    if (curl_url_get(url, part, &text, 0) != CURLUE_OK) return {};
    std::string copy = text;
    curl_free(text);
    return copy;
}

bool is_loopback(const std::string& host) {
    return host == "localhost" || host == "[::1]" ||
           (host.starts_with("127.") && host.find_first_not_of("0123456789.") == std::string::npos);
}

struct Place {
    std::string url;    ///< without its parameters
    std::string query;  ///< from the '?' on; empty: none
    bool loopback = false;
    bool encrypted = false;
};

/// Names of parameters that have keys as values; their values would be in the cache's file.
bool names_a_key(std::string_view query) {
    constexpr std::array<std::string_view, 10> kNames{
        "key",       "apikey", "token",    "accesstoken",     "sig",
        "signature", "secret", "password", "subscriptionkey", "authorization"};
    while (!query.empty()) {
        const std::string_view parameter = query.substr(0, query.find('&'));
        query.remove_prefix(std::min(query.size(), parameter.size() + 1));
        std::string name;
        for (const char c : parameter.substr(0, parameter.find('='))) {
            if (c != '-' && c != '_') name += static_cast<char>(c >= 'A' && c <= 'Z' ? c - 'A' + 'a' : c);
        }
        if (std::ranges::find(kNames, name) != kNames.end()) return true;
    }
    return false;
}

Result<Place> read_url(const std::string& text) {
    const std::unique_ptr<CURLU, FreeUrl> url(curl_url());
    if (curl_url_set(url.get(), CURLUPART_URL, text.c_str(), 0) != CURLUE_OK)
        return bad_input("base_url is not a URL; write it as https://host/v1.");
    // What is wrong with the rest is said without the text: it may have a password in it.
    if (!part_of(url.get(), CURLUPART_USER).empty() || !part_of(url.get(), CURLUPART_PASSWORD).empty())
        return bad_input("base_url has a name or a password in it; leave it out, and give the key by key_variable.");
    const std::string scheme = part_of(url.get(), CURLUPART_SCHEME);
    if (scheme != "https" && scheme != "http")
        return bad_input("base_url is '{}'; it must begin with https:// or http://.", text);
    if (!part_of(url.get(), CURLUPART_FRAGMENT).empty())
        return bad_input("base_url has a '#' in it, and what is behind that is never sent; leave it out.");
    const std::string query = part_of(url.get(), CURLUPART_QUERY);
    if (names_a_key(query))
        return bad_input("base_url has a key among its parameters; leave it out, and give the key by key_variable.");
    curl_url_set(url.get(), CURLUPART_QUERY, nullptr, 0);
    std::string whole = part_of(url.get(), CURLUPART_URL);
    while (whole.ends_with('/')) whole.pop_back();
    if (!whole.ends_with(kPath)) whole += kPath;
    return Place{.url = std::move(whole),
                 .query = query.empty() ? query : "?" + query,
                 .loopback = is_loopback(part_of(url.get(), CURLUPART_HOST)),
                 .encrypted = scheme == "https"};
}

Result<Secret> read_key(const std::string& variable, const Place& place) {
    if (variable.empty()) return Secret();
    const char* const text =
        std::getenv(variable.c_str());  // NOLINT(concurrency-mt-unsafe): as the logger reads its own
    if (text == nullptr || *text == '\0') {
        if (place.loopback) return Secret();
        return bad_input(
            "The environment variable {}, which has the key for {}, is not set. Set it, or name another by "
            "key_variable; an empty name sends no key.",
            variable, place.url);
    }
    const std::string_view key(text);
    if (!std::ranges::all_of(key, [](char c) { return c > 0x20 && c < 0x7F; }))
        return bad_input(
            "The key in {} has a blank, a line end or another character that a header cannot have; is there "
            "one at its end?",
            variable);
    if (!place.encrypted && !place.loopback)
        return bad_input("{} would send the key in {} unencrypted. Use https, or leave key_variable empty.", place.url,
                         variable);
    return Secret(key);
}

}  // namespace

void FreeHeaders::operator()(curl_slist* list) const noexcept {
    for (const curl_slist* line = list; line != nullptr; line = line->next)
        ::explicit_bzero(line->data, ::strlen(line->data));
    curl_slist_free_all(list);
}

Result<Endpoint> make_endpoint(const ClientOptions& options) {
    YOLK_TRY(Place place, read_url(options.base_url));
    YOLK_TRY_VOID(check_regular_file(options.certificates));  // libcurl would block on a named pipe
    YOLK_TRY(Secret key, read_key(options.key_variable, place));
    if (key.is_in(place.url) || key.is_in(place.query))
        return bad_input("base_url has the key in {} in it; leave it out: the key is sent in a header.",
                         options.key_variable);
    Endpoint endpoint{.url = std::move(place.url),
                      .query = std::move(place.query),
                      .loopback = place.loopback,
                      .key = std::move(key),
                      .headers = nullptr,
                      .user_agent = options.user_agent.empty() ? "yolk/" YOLK_VERSION : options.user_agent,
                      .certificates = options.certificates.string()};
    // "Expect:" takes away a header with which libcurl would wait for a second before large bodies.
    curl_slist* headers = curl_slist_append(nullptr, "Content-Type: application/json");
    headers = curl_slist_append(headers, "Expect:");
    if (!endpoint.key.empty()) {
        std::string line = "Authorization: Bearer ";
        line.reserve(line.size() + endpoint.key.reveal().size());
        line.append(endpoint.key.reveal());
        headers = curl_slist_append(headers, line.c_str());
        ::explicit_bzero(line.data(), line.size());
    }
    endpoint.headers.reset(headers);
    return endpoint;
}

}  // namespace yolk::chat
