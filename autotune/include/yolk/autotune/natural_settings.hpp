// SPDX-License-Identifier: Apache-2.0
// What the house strategy would otherwise hold as constants. The initial values were chosen by hand; train_prior finds
// others over recorded surfaces, and a prior file carries them.
#pragma once

#include <span>
#include <string_view>

namespace yolk::autotune {

/// All are numbers, counts too (rounded to the nearest), so that one search moves them all; natural_fields() has their
/// bounds.
struct NaturalSettings {
    // Cold.
    double first = 12.0;       ///< candidates that the regression is least certain of, before it says what is promising
    double local_every = 3.0;  ///< one proposal in this many is among the neighbours of the best
    double linear_share = 0.5;  ///< of the covariance; the rest is the residual's
    double noise = 0.05;        ///< deviation, in units of the values' own
    double exploration = 1.0;   ///< factor on the posterior's deviation in the expected improvement
    // With a prior over devices.
    double portfolio = 8.0;           ///< configurations that are measured before the regression proposes, at most
    double prior_linear_share = 0.5;  ///< of the variance that the devices' factors leave
    double prior_noise = 0.03;
    double mean_deviation = 0.3;     ///< of a factor on the devices' mean
    double residual_factor = 1.0;    ///< on the prior's residual deviation
    double prior_scale_count = 8.0;  ///< measurements that the scale of the recordings is worth
    // The guard against a prior that misleads.
    double patience = 1.6;          ///< times 1 / residual^2: measurements in vain before a cold search begins
    double most_patience = 48.0;    ///< but not more than these
    double doubted_patience = 8.0;  ///< the same on a device that is unlike the recorded ones
    double doubt = 2.0;             ///< the residual's variance in units of the recorded ones' that makes it unlike
};

struct NaturalField {
    std::string_view name;
    double NaturalSettings::*member;
    double lower;
    double upper;
    bool whole;  ///< a count
};
/// Every member, in order. Ranges are of ratios: all bounds are above 0.
[[nodiscard]] std::span<const NaturalField> natural_fields() noexcept;
/// Moved into the bounds, counts made whole; not finite: the initial value.
[[nodiscard]] NaturalSettings legal(NaturalSettings settings) noexcept;

}  // namespace yolk::autotune
