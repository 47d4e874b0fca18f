// SPDX-License-Identifier: Apache-2.0
#include "share_rates.hpp"

#include <algorithm>

namespace yolk::evolve {
namespace {

// Of the time that a device has waited, what its next share may take: it had none because it was slow.
constexpr double kTryShare = 0.01;

}  // namespace

void ShareRates::took(std::span<const double> rates, std::span<const double> seconds) {
    past_.resize(rates.size());
    next_.assign(rates.begin(), rates.end());
    const double longest = *std::ranges::max_element(seconds);
    const double fastest = *std::ranges::max_element(rates);
    for (std::size_t i = 0; i < rates.size(); ++i) {
        if (seconds[i] <= 0.0) continue;
        past_[i] = {.rate = rates[i] / fastest, .seconds = seconds[i]};
        next_[i] *= 0.5 + 0.5 * longest / seconds[i];  // half of the way at a time: times vary
    }
    const double largest = *std::ranges::max_element(next_);
    for (std::size_t i = 0; i < rates.size(); ++i) {
        next_[i] /= largest;
        if (seconds[i] > 0.0 || rates[i] <= 0.0) continue;
        Past& past = past_[i];
        // One that never had a share: no share takes it longer than the fastest's would.
        if (past.seconds <= 0.0) past = {.rate = rates[i] / fastest, .seconds = longest * fastest / rates[i]};
        past.waited += longest;
        next_[i] = std::clamp(past.rate * kTryShare * past.waited / past.seconds, next_[i], 1.0);
    }
}

}  // namespace yolk::evolve
