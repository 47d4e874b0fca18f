// SPDX-License-Identifier: Apache-2.0
// What the search itself costs, beside what it measures.
#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <vector>

#include "yolk/internal/autotune/device_linear_algebra.hpp"
#include "yolk/internal/autotune/space.hpp"
#include "yolk/result.hpp"

namespace yolk::autotune {

/// A space of at least so many configurations and costs by formula, for what needs a surface and has none.
struct MadeUpSurface {
    std::shared_ptr<const CandidateSet> candidates;
    std::vector<double> costs;
};
[[nodiscard]] MadeUpSurface made_up_surface(std::size_t candidates);

/// Milliseconds of steps: told a measurement, asked for the next.
struct StepCost {
    double median = 0.0;
    double largest = 0.0;
};
/// Of the regression and the proposals over all candidates, without fits of the covariance: `steps` steps after
/// `measurements`. Null: on the host.
[[nodiscard]] StepCost step_cost(std::size_t candidates, std::size_t measurements, std::size_t steps,
                                 DeviceAlgebra* algebra);

struct SearchCost {
    StepCost last;               ///< of the last 11 steps
    double largest = 0.0;        ///< of all: one that fits the covariance
    std::size_t largest_at = 0;  ///< after so many measurements
    double seconds = 0.0;        ///< of all steps together
    double best = 0.0;           ///< the cheapest cost found
};
/// Of a whole search with `natural` from seed 1: asks measurements - 10 ... measurements are timed as the last ones.
/// Error (BadInput): Tuner's.
[[nodiscard]] Result<SearchCost> search_cost(const std::shared_ptr<const CandidateSet>& candidates,
                                             std::span<const double> costs, std::size_t measurements,
                                             const std::shared_ptr<DeviceAlgebra>& algebra);

}  // namespace yolk::autotune
