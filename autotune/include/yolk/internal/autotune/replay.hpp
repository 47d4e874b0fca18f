// SPDX-License-Identifier: Apache-2.0
// How good a strategy is: many searches on a recorded surface, each from a seed of its own.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "yolk/internal/autotune/recorded_surface.hpp"
#include "yolk/internal/autotune/tuner.hpp"

namespace yolk::autotune {

/// Budgets at which fractions are reported, up to the replay's own.
inline constexpr std::array<std::size_t, 6> kReportedBudgets{10, 16, 25, 50, 100, 200};

struct ReplayOptions {
    TunerOptions tuner = {};    ///< its seed is the first of the repeats'; invalid configurations cost a measurement
    std::size_t repeats = 100;  ///< at least 1
    std::size_t threads = 0;    ///< 0: as many as the machine has; the results do not depend on it
    /// Called after each repeat with how many are done, on any thread, one at a time; false stops the replay.
    std::function<bool(std::size_t)> progress = {};
};

/// Fractions of the optimum, optimum / best cost found, 0 before the first that worked.
struct Replay {
    std::vector<std::vector<double>> curves;  ///< per repeat, after each measurement
    bool interrupted = false;                 ///< then `curves` holds the repeats that were finished

    [[nodiscard]] double mean(std::size_t budget) const;
    [[nodiscard]] double percentile(std::size_t budget, double share) const;  ///< interpolated linearly
    [[nodiscard]] double standard_error(std::size_t budget) const;            ///< of the mean; 0 for one repeat
    /// The first measurement after which the mean curve reaches the fraction.
    [[nodiscard]] std::optional<std::size_t> evaluations_to(double fraction) const;
};

/// kReportedBudgets up to `budget`, and `budget` itself where it is smaller than all of them.
[[nodiscard]] std::vector<std::size_t> reported_budgets(std::size_t budget);

/// Error (BadInput): as Tuner::create, or no repeat. A budget beyond the surface's size ends with all known.
[[nodiscard]] Result<Replay> replay(const RecordedSurface& surface, const ReplayOptions& options);

}  // namespace yolk::autotune
