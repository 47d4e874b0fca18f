// SPDX-License-Identifier: Apache-2.0
// What `natural` and `bayes` share: a regression over all measurements, and expected improvement over all candidates.
#pragma once

#include <cstddef>
#include <limits>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "covariance.hpp"
#include "joint_gain.hpp"
#include "yolk/internal/autotune/history.hpp"
#include "yolk/internal/autotune/linear_algebra.hpp"

namespace yolk::autotune {

/// Values of failed configurations lie this far above the worst one that worked, in log cost.
inline constexpr double kPenalty = 0.2;
/// Value of a configuration that failed before any has worked.
inline constexpr double kFirstPenalty = 3.0;

/// Log costs as strategies learn them: a failed configuration has the worst value so far plus kPenalty.
class LogCosts {
   public:
    /// The value of a candidate that the history knows, as of when it is first asked for.
    double add(double cost);
    [[nodiscard]] std::span<const double> values() const noexcept { return values_; }

   private:
    std::vector<double> values_;
    double worst_ = kFirstPenalty;
    bool any_ = false;
};

struct PosteriorOptions {
    CovarianceSettings covariance = {};
    double noise = 0.05;                   ///< deviation, in units of the values' own deviation
    std::vector<double> mean = {};         ///< one per candidate; empty: 0
    double scale_count = 0.0;              ///< how many values it is worth that their deviation is 1
    std::vector<std::size_t> fit_at = {};  ///< counts of measurements at which the covariance is fitted to them
    double weight = 1.0;                   ///< of its log expected improvement, beside another search's
    /// What a value is above the median of those known at the last fit counts so much: how bad the bad ones are says
    /// little about where the best is. 1: they are learned as they are.
    double slope_above_median = 1.0;
};

/// Gaussian posterior of the values of all candidates.
class PosteriorSearch {
   public:
    PosteriorSearch(const CandidateSet& candidates, const History& history, PosteriorOptions options,
                    std::unique_ptr<LinearAlgebra> algebra);

    void add(std::size_t candidate, double value);
    [[nodiscard]] std::size_t count() const noexcept { return measured_.size(); }
    [[nodiscard]] const Covariance& covariance() const noexcept { return covariance_; }

    /// Level and deviation of what was added.
    struct Moments {
        double level = 0.0;
        double deviation = 1.0;
    };
    [[nodiscard]] Moments moments() const;
    [[nodiscard]] double mean(std::size_t candidate) const;
    [[nodiscard]] std::vector<double> means() const;  ///< of all candidates
    [[nodiscard]] double deviation(std::size_t candidate) const;
    /// log density of a value that was not added yet, its noise included.
    [[nodiscard]] double log_density(std::size_t candidate, double value) const;

    /// The unknown candidate with the largest expected improvement on the value `best`; among `among`, where given.
    /// None where all are known.
    [[nodiscard]] std::optional<std::size_t> most_promising(double best, std::span<const std::size_t> among = {}) const;

    /// The same of the weighted sum of this one's log expected improvement and of `second`'s.
    [[nodiscard]] std::optional<std::size_t> most_promising_with(const PosteriorSearch& second, double best,
                                                                 std::span<const std::size_t> among = {}) const;
    /// The one of `among` with the largest deviation times its weight, the first of equal ones; `among` is not empty.
    [[nodiscard]] std::size_t least_certain(std::span<const std::size_t> among, std::span<const double> weights) const;
    /// What it says of improving on the value `best`, valid until the next add().
    [[nodiscard]] Opinion opinion(double best) const;

   private:
    [[nodiscard]] Acquisition acquisition(double best) const;
    [[nodiscard]] double prior(std::size_t candidate) const {
        return options_.mean.empty() ? 0.0 : options_.mean[candidate];
    }

    std::shared_ptr<const CandidateGroups> groups_;
    const History& history_;
    PosteriorOptions options_;
    void fit();
    void append(std::size_t position);
    /// As it is learned.
    [[nodiscard]] double bent(double residual) const noexcept {
        return residual <= ceiling_ ? residual : ceiling_ + options_.slope_above_median * (residual - ceiling_);
    }

    Covariance covariance_;
    std::unique_ptr<LinearAlgebra> algebra_;
    std::vector<std::size_t> measured_;
    std::vector<double> residuals_;  ///< values without the prior mean
    double noise_;
    double ceiling_ = std::numeric_limits<double>::infinity();  ///< above it the slope applies
};

}  // namespace yolk::autotune
