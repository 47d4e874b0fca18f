// SPDX-License-Identifier: Apache-2.0
// How alike two candidates are. A sum of
//   log-linear:  one-hot features of every parameter, centred over the candidates. A regression on them is the natural
//                gradient of the policy pi(c) ~ exp(-theta . phi(c)) (docs/tuner.md has the derivation);
//   residual:    Matern 5/2 over the parameters' coordinates, what the features cannot say;
//   devices:     factors of a DevicePrior, and a constant for the device's own level.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "yolk/autotune/linear_algebra.hpp"
#include "yolk/autotune/space.hpp"

namespace yolk::autotune {

/// Of two values on the parameter's scale, in units of its whole range; 1 for different values of a categorical one.
[[nodiscard]] double squared_distance(const Parameter& parameter, std::size_t a, std::size_t b);

struct CovarianceSettings {
    double linear_share = 0.5;           ///< variance of the log-linear part, mean over the candidates
    double residual_share = 0.5;         ///< variance of the residual part
    double length = 0.0;                 ///< of the residual, in units of one parameter's whole range; 0: sqrt(d) / 2
    std::vector<double> relevance = {};  ///< factor on each parameter's distance; empty: 1
    double constant = 0.0;               ///< deviation of a constant
    std::vector<std::vector<double>> factors = {};  ///< of the devices: rank times one per candidate
};

/// Immutable after construction; keeps a pointer to the candidates.
class Covariance final : public Kernel {
   public:
    Covariance(const CandidateSet& candidates, CovarianceSettings settings);

    [[nodiscard]] double between(std::size_t a, std::size_t b) const;
    void column(std::size_t candidate, std::span<double> out) const override;
    [[nodiscard]] std::vector<double> diagonal() const override;

   private:
    /// Products and squared distances of one parameter's values, value by value.
    struct Tables {
        std::size_t values = 0;
        std::vector<double> products, distances;
        std::vector<std::uint16_t> of_candidate;
    };
    [[nodiscard]] double residual(double squared_distance) const;

    CovarianceSettings settings_;
    std::vector<Tables> tables_;
    std::size_t size_ = 0;
};

}  // namespace yolk::autotune
