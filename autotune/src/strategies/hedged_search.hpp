// SPDX-License-Identifier: Apache-2.0
// A search by one regression, or by two that differ in what they take for granted.
#pragma once

#include <cstddef>
#include <limits>
#include <memory>
#include <optional>
#include <span>

#include "posterior_search.hpp"

namespace yolk::autotune {

/// Every measurement goes to both regressions. Proposals are those of the first alone where there is no second;
/// otherwise the candidates whose log expected improvements have the largest sum: both must find them promising, so a
/// model that is wrong about a part of the space is checked by the other (docs/adr/0029). From 100 measurements on the
/// first has every other turn to itself, for the candidates that the second would never let it try.
class HedgedSearch {
   public:
    explicit HedgedSearch(std::unique_ptr<PosteriorSearch> first, std::unique_ptr<PosteriorSearch> second = nullptr)
        : first_(std::move(first)), second_(std::move(second)) {}

    void add(std::size_t candidate, double value);
    /// The most promising unknown candidate; every `local_every` measurements, one of the best one's neighbours, where
    /// one of them is unknown. None where all are known.
    [[nodiscard]] std::optional<std::size_t> propose(const CandidateSet& candidates, std::size_t local_every) const;

    [[nodiscard]] std::size_t count() const noexcept { return first_->count(); }
    [[nodiscard]] const PosteriorSearch& first() const noexcept { return *first_; }

   private:
    [[nodiscard]] std::optional<std::size_t> most_promising_of(std::span<const std::size_t> among) const;

    std::unique_ptr<PosteriorSearch> first_, second_;
    double best_value_ = std::numeric_limits<double>::infinity();
    std::optional<std::size_t> best_;
};

}  // namespace yolk::autotune
