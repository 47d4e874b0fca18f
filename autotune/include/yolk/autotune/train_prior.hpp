// SPDX-License-Identifier: Apache-2.0
// Training what the house strategy begins with: its settings, and how the recorded devices make up the low-rank prior
// over devices. EGGROLL moves them; a candidate's score is how well replays of the strategy do that begin from it, on
// devices that the prior was not made from.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "yolk/autotune/prior_file.hpp"
#include "yolk/autotune/recorded_surface.hpp"
#include "yolk/core/result.hpp"
#include "yolk/runtime/dispatcher.hpp"

namespace yolk::autotune {

/// Mean log fractions of the optimum over the reported budgets, the surfaces, and searches with and without a prior.
struct TrainPriorProgress {
    std::uint32_t generation = 0;  ///< done
    std::uint32_t generations = 0;
    double centre = 0.0;  ///< of the unperturbed parameters before this generation's update
    double mean = 0.0;    ///< of the population
    double best = 0.0;
};

struct TrainPriorOptions {
    std::uint64_t seed = 1;
    std::uint32_t generations = 10;  ///< 0: the untrained prior
    std::uint32_t population = 16;   ///< even
    float sigma = 0.15F;             ///< in search coordinates: 1 is half the logarithmic range of a setting
    float learning_rate = 0.5F;
    std::size_t budget = 50;             ///< measurements of a replay
    std::size_t candidate_limit = 1500;  ///< a replay is on so many of a surface's configurations, drawn by generation
    std::size_t final_repeats = 16;      ///< searches per surface of the comparison at the end
    std::size_t threads = 0;             ///< 0: as many as the machine has; the result does not depend on it
    /// Where a run that was stopped goes on from; empty: nowhere. Removed at the end.
    std::filesystem::path checkpoint{};
    std::function<bool(const TrainPriorProgress&)> progress{};  ///< false: stop, the checkpoint is kept
};

struct TrainPriorOutcome {
    PriorFile file;        ///< of the better of the two
    bool trained = false;  ///< the trained parameters were better by more than two standard errors, and are in the file
    bool interrupted = false;
    std::uint32_t resumed_at = 0;  ///< generation of the checkpoint
    double untrained_score = 0.0;  ///< of the comparison
    double trained_score = 0.0;
    double standard_error = 0.0;  ///< of their difference
    std::size_t compared = 0;     ///< searches of either
    std::uint64_t replays = 0;    ///< searches in all, this run's
};

/// Recordings of one kernel and the same parameters belong together; those of one device (by the name that they say;
/// without a name, each its own) are left out together. The comparison at the end is on `held_out`, which no candidate
/// is scored on; where it is empty, on the training surfaces by other searches. Errors: no recording, an odd
/// population (BadInput); another training writes the checkpoint (Io); those of the device.
[[nodiscard]] Result<TrainPriorOutcome> train_prior(const Device& device, Dispatcher& dispatcher,
                                                    std::span<const RecordedSurface> recordings,
                                                    std::span<const RecordedSurface> held_out,
                                                    const TrainPriorOptions& options);

}  // namespace yolk::autotune
