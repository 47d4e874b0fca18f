// SPDX-License-Identifier: Apache-2.0
#include "retry.hpp"

#include <curl/curl.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <ctime>
#include <string>

#include "yolk/internal/core/philox.hpp"

namespace yolk::chat {
namespace {

/// The number at the text's beginning, which it takes away; from_chars knows no locale.
std::optional<double> take_number(std::string_view& text) {
    double number = 0.0;
    const auto [end, failed] =
        std::from_chars(text.data(), text.data() + text.size(), number, std::chars_format::fixed);
    if (failed != std::errc() || !std::isfinite(number) || number < 0.0) return std::nullopt;
    text.remove_prefix(static_cast<std::size_t>(end - text.data()));
    return number;
}

std::optional<double> plain_number(std::string_view text) {
    const std::optional<double> number = take_number(text);
    return text.empty() ? number : std::nullopt;
}

std::optional<double> retry_after(std::string_view text, std::int64_t unix_seconds) {
    if (const auto seconds = plain_number(text)) return seconds;
    const std::time_t date = ::curl_getdate(std::string(text).c_str(), nullptr);
    if (date < 0) return std::nullopt;
    return static_cast<double>(std::max<std::int64_t>(date - unix_seconds, 0));
}

}  // namespace

std::optional<std::string_view> find_header(const Headers& headers, std::string_view name) noexcept {
    const auto found = std::ranges::find_if(headers, [&](const auto& header) { return header.first == name; });
    if (found == headers.end()) return std::nullopt;
    return found->second;
}

std::optional<double> parse_duration(std::string_view text) {
    if (const auto seconds = plain_number(text)) return seconds;
    // "ms" before "m", which it begins with.
    constexpr std::array<std::pair<std::string_view, double>, 5> kUnits{
        {{"ms", 1e-3}, {"d", 86400.0}, {"h", 3600.0}, {"m", 60.0}, {"s", 1.0}}};
    double seconds = 0.0;
    if (text.empty()) return std::nullopt;
    while (!text.empty()) {
        const std::optional<double> number = take_number(text);
        const auto unit =
            std::ranges::find_if(kUnits, [&](const auto& candidate) { return text.starts_with(candidate.first); });
        if (!number || unit == kUnits.end()) return std::nullopt;
        seconds += *number * unit->second;
        text.remove_prefix(unit->first.size());
    }
    return seconds;
}

std::optional<double> server_delay(const Headers& headers, std::int64_t unix_seconds) {
    std::optional<double> longest;
    if (const auto text = find_header(headers, "retry-after-ms")) {
        if (const auto milliseconds = plain_number(*text)) longest = *milliseconds * 1e-3;
    }
    if (longest.value_or(0.0) > 0.0) return longest;
    if (const auto text = find_header(headers, "retry-after")) {
        if (const auto seconds = retry_after(*text, unix_seconds)) longest = seconds;
    }
    if (longest.value_or(0.0) > 0.0) return longest;
    for (const std::string_view what : {"requests", "tokens"}) {
        const auto remaining = find_header(headers, std::string("x-ratelimit-remaining-").append(what));
        if (remaining && plain_number(*remaining).value_or(0.0) > 0.0) continue;
        const auto reset = find_header(headers, std::string("x-ratelimit-reset-").append(what));
        const auto seconds = reset ? parse_duration(*reset) : std::nullopt;
        if (seconds) longest = std::max(longest.value_or(0.0), *seconds);
    }
    return longest;
}

double backoff_seconds(const BackoffRule& rule, std::uint64_t call, std::uint32_t attempt) noexcept {
    const double doubled = rule.first_seconds * std::exp2(std::min(attempt == 0 ? 0U : attempt - 1U, 60U));
    const PhiloxCounter words =
        philox4x32({attempt, static_cast<std::uint32_t>(call), static_cast<std::uint32_t>(call >> 32U), 0},
                   {static_cast<std::uint32_t>(rule.seed), static_cast<std::uint32_t>(rule.seed >> 32U)});
    const double drawn = 0.5 + 0.5 * static_cast<double>(words[0]) / 4294967296.0;
    return std::min(doubled, rule.most_seconds) * drawn;
}

}  // namespace yolk::chat
