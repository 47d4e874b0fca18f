// SPDX-License-Identifier: Apache-2.0
// What recordings of other devices say about a space: a low-rank model over devices,
//   log(cost / optimum of the device) = mean(candidate) + u . factors(candidate) + residual,   u ~ N(0, 1) per device.
// On a new device u is inferred from few measurements.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "yolk/internal/autotune/recorded_surface.hpp"
#include "yolk/internal/autotune/space.hpp"
#include "yolk/result.hpp"

namespace yolk::autotune {

inline constexpr std::size_t kPriorRank = 3;

/// One entry per candidate of the target.
struct DevicePrior {
    std::vector<double> mean;
    std::vector<std::vector<double>> factors;  ///< rank of them, scaled by the deviation of u over the devices
    double residual_deviation = 0.0;           ///< of what the factors leave, among the better candidates
    std::vector<std::size_t> portfolio;        ///< measured first: together the best on the devices recorded
};

/// Error (BadInput): no recording; one that knows a varying parameter which the target lacks, or the other way round;
/// one without any configuration of the target. Parameters are matched by name, values by equality.
[[nodiscard]] Result<DevicePrior> make_prior(const CandidateSet& target, std::span<const RecordedSurface> recordings,
                                             std::size_t rank = kPriorRank);

}  // namespace yolk::autotune
