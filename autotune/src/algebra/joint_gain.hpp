// SPDX-License-Identifier: Apache-2.0
// Expected improvement that does not underflow, and the candidate on which two regressions agree most.
#pragma once

#include <cstddef>
#include <optional>
#include <span>

#include "yolk/internal/autotune/linear_algebra.hpp"

namespace yolk::autotune {

/// log(phi(z) + z Phi(z)), the logarithm of an expected improvement in units of the deviation, z how many deviations
/// the mean is below the best. Above -2 by erfc; below, where the two terms cancel and then underflow, -z^2/2 and a
/// continued fraction (Ament et al., "Unexpected improvements to expected improvement for Bayesian optimization", 2023,
/// names the trap). Within 4e-14, of its value's size where that is above 1.
[[nodiscard]] double log_improvement(double z) noexcept;

/// What one regression says of all candidates.
struct Opinion {
    Acquisition acquisition;
    Posteriors posteriors;
};

/// Adds bounds from above of one regression's weighted log expected improvements (add_gain_bounds), one per candidate.
void add_bounds(const Opinion& opinion, std::span<double> bounds);

/// The unknown candidate with the largest weighted sum of both log expected improvements, the first of equal ones;
/// among `among`, where given. None where all are known. The histories are the same.
[[nodiscard]] std::optional<std::size_t> most_promising(const Opinion& first, const Opinion& second,
                                                        std::span<const std::size_t> among);
/// Log expected improvement of one candidate, without its weight.
[[nodiscard]] double log_gain(const Acquisition& acquisition, std::size_t candidate,
                              const CandidatePosterior& posterior) noexcept;
[[nodiscard]] double log_gain(const Opinion& opinion, std::size_t candidate) noexcept;

}  // namespace yolk::autotune
