// SPDX-License-Identifier: Apache-2.0
// The same work again and again, and how long each run took.
#pragma once

#include <algorithm>
#include <cstddef>
#include <functional>
#include <vector>

#include "yolk/dispatcher.hpp"
#include "yolk/internal/primitives/clock_warm_up.hpp"
#include "yolk/internal/runtime/recorder.hpp"
#include "yolk/result.hpp"

namespace yolk::cli {

/// Seconds of each run.
struct TimedRuns {
    std::vector<double> wall;  ///< from submission to the end of the wait, or of what is called
    std::vector<double>
        device;  ///< between two timestamps; empty where the device has none, or it was not one recording

    [[nodiscard]] const std::vector<double>& best_known() const { return device.empty() ? wall : device; }
};

/// The middle and the quartiles of some numbers, at least one.
struct Spread {
    explicit Spread(std::vector<double> values);
    double low = 0.0, median = 0.0, high = 0.0;
};

/// When enough runs were timed: both must hold; one is enough after `most_seconds`, or where a signal asks for an end.
struct RunBudget {
    double seconds = 1.0;
    std::size_t fewest = 7;
    double most_seconds = 20.0;
};

[[nodiscard]] bool is_enough(const std::vector<double>& runs, const RunBudget& budget);

/// Records what `record` does between two timestamps, and runs it: first until the recording has as few submissions as
/// the times that were seen allow, which also compiles, then timed. Errors: what was recorded, device lost, driver.
[[nodiscard]] Result<TimedRuns> time_recording(Dispatcher& dispatcher, const std::function<void(Recorder&)>& record,
                                               const RunBudget& budget);

/// Calls `run` once, then timed.
[[nodiscard]] Result<TimedRuns> time_calls(const std::function<Result<void>()>& run, const RunBudget& budget);

}  // namespace yolk::cli
