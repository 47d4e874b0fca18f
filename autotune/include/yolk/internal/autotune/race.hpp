// SPDX-License-Identifier: Apache-2.0
// How many times to time what, and when a difference is one: pure functions of samples, without a clock.
#pragma once

#include <cstddef>
#include <span>

namespace yolk::autotune {

[[nodiscard]] double median_of(std::span<const double> values);  ///< of one value at least
/// Interquartile range over the median: how far repeats are apart.
[[nodiscard]] double spread_of(std::span<const double> values);

/// A search times most candidates once: only one that comes near the best so far is timed again.
struct RaceRules {
    double near = 1.15;            ///< within this factor of the best ...
    std::size_t most_samples = 4;  ///< ... up to so many samples
};
/// Whether the candidate with these samples should be timed again. `best`: the best median of all others, infinity for
/// none. The least of the samples decides, since what disturbs a measurement makes it longer.
[[nodiscard]] bool wants_another_sample(std::span<const double> samples, double best, const RaceRules& rules = {});

/// What interleaved rounds say about two configurations: samples of the same index were taken one after the other.
/// Rounds in which one of them is not finite or not above 0 are left out.
struct Comparison {
    double log_ratio = 0.0;  ///< median of log(challenger / incumbent): below 0 the challenger is faster
    double error = 0.0;      ///< its standard error, by the median absolute deviation
    std::size_t rounds = 0;
};
[[nodiscard]] Comparison compare(std::span<const double> challenger, std::span<const double> incumbent);

struct ReplaceRules {
    std::size_t least_rounds = 5;
    double gain = 0.01;   ///< at least so much faster ...
    double errors = 3.0;  ///< ... by so many standard errors
};
/// Whether the challenger is faster beyond the noise.
[[nodiscard]] bool replaces(const Comparison& comparison, const ReplaceRules& rules = {});

}  // namespace yolk::autotune
