// SPDX-License-Identifier: Apache-2.0
// All that a tuner has been told.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <optional>
#include <span>
#include <vector>

namespace yolk::autotune {

/// Written by the tuner, read by its strategy.
class History {
   public:
    explicit History(std::size_t candidates) : samples_(candidates), costs_(candidates) {}

    [[nodiscard]] bool known(std::size_t candidate) const noexcept { return !samples_[candidate].empty(); }
    /// Median of the candidate's samples, kInvalidCost where one of them failed; it must be known.
    [[nodiscard]] double cost(std::size_t candidate) const noexcept { return costs_[candidate]; }
    [[nodiscard]] std::span<const double> samples(std::size_t candidate) const noexcept { return samples_[candidate]; }
    /// Candidates in the order in which they became known.
    [[nodiscard]] std::span<const std::size_t> order() const noexcept { return order_; }
    [[nodiscard]] std::size_t size() const noexcept { return order_.size(); }
    [[nodiscard]] bool complete() const noexcept { return order_.size() == samples_.size(); }
    /// The cheapest known candidate, the earliest of equal ones; none while nothing worked.
    [[nodiscard]] std::optional<std::size_t> best() const noexcept {
        std::optional<std::size_t> best;
        for (const std::size_t candidate : order_) {
            if (std::isfinite(costs_[candidate]) && (!best || costs_[candidate] < costs_[*best])) best = candidate;
        }
        return best;
    }

    void add(std::size_t candidate, double cost) {
        std::vector<double>& samples = samples_[candidate];
        if (samples.empty()) order_.push_back(candidate);
        samples.push_back(cost);
        std::vector<double> sorted = samples;
        std::ranges::sort(sorted);
        const std::size_t half = sorted.size() / 2;
        const double middle = sorted.size() % 2 == 1 ? sorted[half] : 0.5 * (sorted[half - 1] + sorted[half]);
        costs_[candidate] = std::isfinite(sorted.back()) ? middle : sorted.back();
    }

   private:
    std::vector<std::vector<double>> samples_;
    std::vector<double> costs_;
    std::vector<std::size_t> order_;
};

}  // namespace yolk::autotune
