// SPDX-License-Identifier: Apache-2.0
// Which covariance the measurements themselves speak for.
#pragma once

#include <cstddef>
#include <memory>
#include <span>

#include "covariance.hpp"

namespace yolk::autotune {

/// A covariance and the deviation of the noise, both in units of the values' own scale.
struct FittedCovariance {
    CovarianceSettings covariance;
    double noise = 0.05;
    double scale_count = 0.0;  ///< how many values the scale 1 is worth that is known beforehand
};

/// Coordinate ascent of the log evidence, level and scale of the values profiled out,
///   -(n + c)/2 log s^2 - 1/2 log |A|,   A = K(S,S) + noise^2,  s^2 = (c + min over m of (y - m)^T A^-1 (y - m)) / (n +
///   c),
/// over the shares of the two parts, the weight of the devices' factors, each parameter's relevance in the residual's
/// distance, and the noise. Steps are factors of 2, with a penalty on the square of their count, so that few
/// measurements move little. O(n^3) per trial.
[[nodiscard]] FittedCovariance fit_covariance(const std::shared_ptr<const CandidateGroups>& groups,
                                              std::span<const std::size_t> measured, std::span<const double> values,
                                              const FittedCovariance& start);
[[nodiscard]] FittedCovariance fit_covariance(const CandidateSet& candidates, std::span<const std::size_t> measured,
                                              std::span<const double> values, const FittedCovariance& start);

}  // namespace yolk::autotune
