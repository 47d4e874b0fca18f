// SPDX-License-Identifier: Apache-2.0
// Rates by which an update is shared, from what its shares took. A pure state machine: no clock, no device.
#pragma once

#include <span>
#include <vector>

namespace yolk::evolve {

class ShareRates {
   public:
    /// An update was shared by these rates, and each device's share took `seconds`; 0: it had none.
    void took(std::span<const double> rates, std::span<const double> seconds);
    /// The largest is 1; empty before the first update.
    [[nodiscard]] std::span<const double> next() const noexcept { return next_; }

   private:
    struct Past {
        double rate = 0.0;     // by which it had its last share, the largest being 1
        double seconds = 0.0;  // of that share
        double waited = 0.0;   // seconds of updates since
    };
    std::vector<Past> past_;
    std::vector<double> next_;
};

}  // namespace yolk::evolve
