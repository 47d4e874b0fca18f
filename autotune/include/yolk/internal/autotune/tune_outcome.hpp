// SPDX-License-Identifier: Apache-2.0
// What a search on a device says while it runs, and what came of it.
#pragma once

#include <cstddef>
#include <limits>

#include "yolk/internal/context/tuning_file.hpp"
#include "yolk/internal/runtime/tuning_space.hpp"

namespace yolk::autotune {

/// How a search stands.
struct LiveProgress {
    std::size_t evaluations = 0;
    std::size_t rejected = 0;  ///< of them, those that failed
    std::size_t budget = 0;
    double best_milliseconds = std::numeric_limits<double>::infinity();
    double heuristic_milliseconds = std::numeric_limits<double>::infinity();
};

/// The end of a search.
struct TuneLiveOutcome {
    TuningChoice choice;  ///< as measured; what is in the table unless another process had a better one
    Configuration heuristic;
    bool replaced = false;  ///< the choice is not the heuristic: something was faster beyond the noise
    /// The same, and the strategy proposed it in this run: neither the default nor the table nor the portfolio had it.
    bool found = false;
    bool interrupted = false;
    std::size_t measured = 0;  ///< evaluations of this run
    std::size_t rejected = 0;
    std::size_t known = 0;  ///< evaluations that earlier runs had made
};

}  // namespace yolk::autotune
