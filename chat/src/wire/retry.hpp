// SPDX-License-Identifier: Apache-2.0
// When to try again: what the server asks for, or a backoff. Pure functions; the clock comes in.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace yolk::chat {

/// Of a reply; names in small letters.
using Headers = std::vector<std::pair<std::string, std::string>>;

/// The first value of that name, if there is one.
[[nodiscard]] std::optional<std::string_view> find_header(const Headers& headers, std::string_view name) noexcept;

/// Seconds that the server asks to wait, never negative: retry-after-ms, else retry-after (seconds or an HTTP date),
/// else the longest x-ratelimit-reset-requests or -tokens whose x-ratelimit-remaining is 0 or absent. A 0 does not hide
/// what a later one says. None where it says nothing that can be read.
[[nodiscard]] std::optional<double> server_delay(const Headers& headers, std::int64_t unix_seconds);

/// "1s", "6m0s", "1h2m3.5s", "20ms", or a plain number of seconds. None for anything else.
[[nodiscard]] std::optional<double> parse_duration(std::string_view text);

struct BackoffRule {
    double first_seconds = 0.5;
    double most_seconds = 30.0;
    std::uint64_t seed = 0;
};

/// Before attempt `attempt` + 1: first_seconds doubled with each attempt, at most most_seconds, times a number from .5
/// to 1 that (seed, call, attempt) draw: calls that failed together do not come back together.
[[nodiscard]] double backoff_seconds(const BackoffRule& rule, std::uint64_t call, std::uint32_t attempt) noexcept;

}  // namespace yolk::chat
