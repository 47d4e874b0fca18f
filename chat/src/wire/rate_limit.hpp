// SPDX-License-Identifier: Apache-2.0
// Token buckets. Seconds since any fixed moment come in, so that tests need no clock.
#pragma once

#include <optional>

namespace yolk::chat {

/// Fills at `per_minute` / 60 a second up to one second's worth, at least 1; begins full. May go below zero, for costs
/// above what it holds and for those that are known later.
class TokenBucket {
   public:
    TokenBucket(double per_minute, double now) noexcept;
    /// Seconds until `cost` may be taken; a cost above what the bucket holds waits for a full one.
    [[nodiscard]] double wait_seconds(double cost, double now) const noexcept;
    void take(double cost, double now) noexcept;

   private:
    [[nodiscard]] double level_at(double now) const noexcept;
    double per_second_;
    double capacity_;
    double level_;
    double at_;
};

/// Both limits of a client, each of which may be absent.
class RateLimit {
   public:
    RateLimit(std::optional<double> requests_per_minute, std::optional<double> tokens_per_minute, double now);
    [[nodiscard]] double wait_seconds(double tokens, double now) const noexcept;
    /// A request that is taken to cost `tokens`.
    void take(double tokens, double now) noexcept;
    /// What it cost beyond that; negative where it cost less.
    void correct(double tokens, double now) noexcept;

   private:
    std::optional<TokenBucket> requests_;
    std::optional<TokenBucket> tokens_;
};

}  // namespace yolk::chat
