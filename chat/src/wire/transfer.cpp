// SPDX-License-Identifier: Apache-2.0
#include "transfer.hpp"

#include <algorithm>
#include <cctype>
#include <string_view>

namespace yolk::chat {
namespace {

constexpr std::uint64_t kMostHeaderBytes = 256 * 1024;

std::string_view trimmed(std::string_view text) {
    const auto blank = [](char c) { return c == ' ' || c == '\t' || c == '\r' || c == '\n'; };
    while (!text.empty() && blank(text.front())) text.remove_prefix(1);
    while (!text.empty() && blank(text.back())) text.remove_suffix(1);
    return text;
}

bool is_looked_at(std::string_view name) {
    return name == "location" || name.starts_with("retry-after") || name.starts_with("x-ratelimit-re");
}

}  // namespace

Transfer::Transfer(const Endpoint& endpoint, std::uint64_t most_reply_bytes)
    : most_reply_bytes_(most_reply_bytes), easy_(curl_easy_init()) {
    CURL* const easy = easy_.get();
    curl_easy_setopt(easy, CURLOPT_URL, (endpoint.url + endpoint.query).c_str());  // libcurl keeps a copy
    curl_easy_setopt(easy, CURLOPT_HTTPHEADER, endpoint.headers.get());
    curl_easy_setopt(easy, CURLOPT_HEADEROPT, long{CURLHEADER_SEPARATE});  // a proxy sees none of them
    curl_easy_setopt(easy, CURLOPT_USERAGENT, endpoint.user_agent.c_str());
    curl_easy_setopt(easy, CURLOPT_POST, 1L);
    curl_easy_setopt(easy, CURLOPT_NOSIGNAL, 1L);
    curl_easy_setopt(easy, CURLOPT_FOLLOWLOCATION, 0L);
    curl_easy_setopt(easy, CURLOPT_PROTOCOLS_STR, "http,https");
    curl_easy_setopt(easy, CURLOPT_HTTP_VERSION, long{CURL_HTTP_VERSION_1_1});  // the one that the tests speak
    curl_easy_setopt(easy, CURLOPT_SSL_VERIFYPEER, 1L);
    curl_easy_setopt(easy, CURLOPT_SSL_VERIFYHOST, 2L);
    if (!endpoint.certificates.empty()) curl_easy_setopt(easy, CURLOPT_CAINFO, endpoint.certificates.c_str());
    if (endpoint.loopback) curl_easy_setopt(easy, CURLOPT_PROXY, "");
    curl_easy_setopt(easy, CURLOPT_MAXFILESIZE_LARGE, static_cast<curl_off_t>(most_reply_bytes));
    curl_easy_setopt(easy, CURLOPT_WRITEFUNCTION, &Transfer::on_body);
    curl_easy_setopt(easy, CURLOPT_WRITEDATA, this);
    curl_easy_setopt(easy, CURLOPT_HEADERFUNCTION, &Transfer::on_header);
    curl_easy_setopt(easy, CURLOPT_HEADERDATA, this);
    curl_easy_setopt(easy, CURLOPT_ERRORBUFFER, error_.data());
}

void Transfer::prepare(const std::string& body, long timeout_milliseconds) {
    received_ = {};
    header_bytes_ = 0;
    error_[0] = '\0';
    CURL* const easy = easy_.get();
    curl_easy_setopt(easy, CURLOPT_POSTFIELDS, body.c_str());
    curl_easy_setopt(easy, CURLOPT_POSTFIELDSIZE_LARGE, static_cast<curl_off_t>(body.size()));
    curl_easy_setopt(easy, CURLOPT_TIMEOUT_MS, timeout_milliseconds);
    curl_easy_setopt(easy, CURLOPT_CONNECTTIMEOUT_MS, std::min(timeout_milliseconds, 10'000L));
}

Received Transfer::take(CURLcode code) {
    received_.code = code;
    received_.too_large |= code == CURLE_FILESIZE_EXCEEDED;
    received_.curl_error = error_[0] != '\0' ? error_.data() : curl_easy_strerror(code);
    curl_easy_getinfo(easy_.get(), CURLINFO_RESPONSE_CODE, &received_.status);
    curl_easy_setopt(easy_.get(), CURLOPT_POSTFIELDS, nullptr);
    return std::exchange(received_, {});
}

std::size_t Transfer::on_body(char* bytes, std::size_t size, std::size_t count, void* self) noexcept {
    auto& transfer = *static_cast<Transfer*>(self);
    const std::size_t more = size * count;
    if (transfer.received_.body.size() + more > transfer.most_reply_bytes_) {
        transfer.received_.too_large = true;
        return 0;  // ends the transfer
    }
    transfer.received_.body.append(bytes, more);
    return more;
}

std::size_t Transfer::on_header(char* bytes, std::size_t size, std::size_t count, void* self) noexcept {
    auto& transfer = *static_cast<Transfer*>(self);
    const std::size_t more = size * count;
    transfer.header_bytes_ += more;
    if (transfer.header_bytes_ > kMostHeaderBytes) {
        transfer.received_.too_large = true;
        return 0;
    }
    const std::string_view line(bytes, more);
    const std::size_t colon = line.find(':');
    if (colon == std::string_view::npos) return more;
    std::string name(line.substr(0, colon));
    std::ranges::transform(name, name.begin(), [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
    if (is_looked_at(name)) transfer.received_.headers.emplace_back(std::move(name), trimmed(line.substr(colon + 1)));
    return more;
}

}  // namespace yolk::chat
