// SPDX-License-Identifier: Apache-2.0
#include "rate_limit.hpp"

#include <algorithm>

namespace yolk::chat {

TokenBucket::TokenBucket(double per_minute, double now) noexcept
    : per_second_(per_minute / 60.0), capacity_(std::max(per_second_, 1.0)), level_(capacity_), at_(now) {}

double TokenBucket::level_at(double now) const noexcept {
    return std::min(capacity_, level_ + std::max(now - at_, 0.0) * per_second_);
}

double TokenBucket::wait_seconds(double cost, double now) const noexcept {
    return std::max(std::min(cost, capacity_) - level_at(now), 0.0) / per_second_;
}

void TokenBucket::take(double cost, double now) noexcept {
    level_ = std::min(level_at(now) - cost, capacity_);
    at_ = std::max(at_, now);
}

RateLimit::RateLimit(std::optional<double> requests_per_minute, std::optional<double> tokens_per_minute, double now) {
    if (requests_per_minute) requests_.emplace(*requests_per_minute, now);
    if (tokens_per_minute) tokens_.emplace(*tokens_per_minute, now);
}

double RateLimit::wait_seconds(double tokens, double now) const noexcept {
    return std::max(requests_ ? requests_->wait_seconds(1.0, now) : 0.0,
                    tokens_ ? tokens_->wait_seconds(tokens, now) : 0.0);
}

void RateLimit::take(double tokens, double now) noexcept {
    if (requests_) requests_->take(1.0, now);
    correct(tokens, now);
}

void RateLimit::correct(double tokens, double now) noexcept {
    if (tokens_) tokens_->take(tokens, now);
}

}  // namespace yolk::chat
