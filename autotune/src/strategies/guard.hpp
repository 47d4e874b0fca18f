// SPDX-License-Identifier: Apache-2.0
// How far a prior over devices is believed.
#pragma once

#include <cstddef>
#include <deque>
#include <limits>

namespace yolk::autotune {

enum class Trust {
    Full,  ///< the prior's search has all measurements
    Half,  ///< it takes turns with a cold search that began anew
    None,  ///< all measurements are the cold search's
};

/// Trust only goes down. It ends where measurements bring nothing: after so many in vain, which is the longer the
/// better the recorded devices agree (what the factors leave of a device has the variance residual^2), or after eight
/// where this device is unlike them. It is, where
/// - the residual's variance as estimated on this device is twice that of the recorded ones, or more: the
///   prior's own evidence against itself; or
/// - over the last 8 measurements the prior's predictive densities are worse than the cold search's by a nat each.
class Guard {
   public:
    explicit Guard(double residual_deviation);

    /// A measurement that the prior's search proposed, with the log densities that either search gave it beforehand.
    void measured(double value, double warm_density, double cold_density);
    /// A value that nobody answers for: of the portfolio, or of the cold search's. Only the prior's own finds count for
    /// it.
    void found(double value, bool by_prior);
    /// Of the residual on this device, in units of the recorded ones'.
    void scaled(double deviation) { scale_ = deviation; }
    [[nodiscard]] Trust trust() const { return trust_; }

   private:
    void judge();

    double patience_;
    std::deque<double> differences_;
    double best_ = std::numeric_limits<double>::infinity();
    double scale_ = 1.0;
    std::size_t measured_ = 0;
    std::size_t vain_ = 0;
    Trust trust_ = Trust::Full;
};

}  // namespace yolk::autotune
