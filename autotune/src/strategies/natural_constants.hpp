// SPDX-License-Identifier: Apache-2.0
// Of the house strategy, chosen by hand over recorded surfaces (docs/tuner.md).
#pragma once

#include <cstddef>

namespace yolk::autotune::natural {

// Cold.
inline constexpr std::size_t kLocalEvery = 3;  ///< one proposal in this many is among the neighbours of the best
inline constexpr double kLinearShare = 0.5;    ///< of the covariance; the rest is the residual's
inline constexpr double kNoise = 0.05;         ///< deviation, in units of the values' own
// With a prior over devices.
inline constexpr std::size_t kMostOfPortfolio = 8;  ///< configurations measured before the regression proposes, at most
inline constexpr std::size_t kFirstBesidePrior = 6;  ///< turns of the cold search that choose the least certain
inline constexpr double kPriorLinearShare = 0.5;     ///< of the variance that the devices' factors leave
inline constexpr double kPriorNoise = 0.03;
inline constexpr double kMeanDeviation = 0.3;    ///< of a factor on the devices' mean
inline constexpr double kPriorScaleCount = 8.0;  ///< measurements that the scale of the recordings is worth

}  // namespace yolk::autotune::natural
