// SPDX-License-Identifier: Apache-2.0
#include "hedged_search.hpp"

#include <vector>

namespace yolk::autotune {
namespace {

/// From this count of measurements on, every other proposal is the first regression's own.
constexpr std::size_t kTurnsFrom = 100;

}  // namespace

void HedgedSearch::add(std::size_t candidate, double value) {
    first_->add(candidate, value);
    if (second_ != nullptr) second_->add(candidate, value);
    if (value >= best_value_) return;
    best_value_ = value;
    best_ = candidate;
}

std::optional<std::size_t> HedgedSearch::most_promising_of(std::span<const std::size_t> among) const {
    const bool alone = count() >= kTurnsFrom && count() % 2 == 1;
    if (second_ == nullptr || alone) return first_->most_promising(best_value_, among);
    return first_->most_promising_with(*second_, best_value_, among);
}

std::optional<std::size_t> HedgedSearch::propose(const CandidateSet& candidates, std::size_t local_every) const {
    if (best_ && count() % local_every == 0) {
        const std::vector<std::size_t> near = candidates.neighbours(*best_);
        if (!near.empty()) {
            if (const auto proposed = most_promising_of(near)) return proposed;
        }
    }
    return most_promising_of({});
}

}  // namespace yolk::autotune
