// SPDX-License-Identifier: Apache-2.0
// Tuning many shapes on a device in a given time: which ones, whose turn it is, and what is written.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "yolk/device.hpp"
#include "yolk/dispatcher.hpp"
#include "yolk/internal/autotune/algebra_report.hpp"
#include "yolk/internal/autotune/table_operations.hpp"
#include "yolk/internal/autotune/tune_outcome.hpp"
#include "yolk/internal/autotune/tuning_jobs.hpp"
#include "yolk/result.hpp"

namespace yolk::autotune {

/// Of one shape, where nothing else is asked for.
inline constexpr std::uint32_t kDefaultTuningBudget = 60;
/// Of a whole run.
inline constexpr std::chrono::duration<double> kDefaultTuningTime{540.0};

struct TuneDeviceOptions {
    TuningJob job{};
    std::string strategy = "natural";
    std::uint32_t budget = kDefaultTuningBudget;  ///< measurements of a shape, those of earlier runs counted
    std::uint64_t seed = 1;
    std::chrono::duration<double> time = kDefaultTuningTime;  ///< of all shapes together, but for what is under way
    bool again = false;                                       ///< shapes that have a choice, too
    /// Unset: Auto; but for `natural` and `bayes` the host where the device computes on the host's own cores.
    std::optional<AlgebraPlace> algebra{};
    OpenDevice open_for_algebra{};  ///< needed where the algebra may be on the device
    /// What was measured, as a recording: by its name T4 (.t4.json) or a Kernel Tuner cache; numbered before its first
    /// dot where there are several shapes. Empty: none.
    std::filesystem::path record{};
    std::function<void(const std::string& shape)> begun{};
    /// After each evaluation of a shape; false stops its search.
    std::function<bool(const std::string& shape, const LiveProgress&)> progress{};
    std::function<void()> ended{};    ///< after each shape's search
    std::function<bool()> goes_on{};  ///< asked before each shape
};

/// A shape, and what came of it.
struct TunedShape {
    std::string shape;  ///< as a table's key has it
    /// What the table has now, as it was measured; nothing where the shape could not be tuned, or not yet.
    std::optional<TuningChoice> choice{};
    std::optional<TuneLiveOutcome> search{};  ///< of this run, where there was one
    std::string error{};
    bool too_late = false;  ///< no time was left for it; the next run goes on
    bool own = false;       ///< one of the tuner's own kernels, tuned first
};

struct TuneDeviceOutcome {
    std::filesystem::path table;
    std::vector<TunedShape> shapes{};
    std::vector<SkippedShape> skipped{};
    std::size_t measured = 0;  ///< evaluations of this run
    double seconds = 0.0;
    double speed_up = 1.0;            ///< geometric mean of heuristic over tuned, of shapes with both times
    double median_speed_up = 1.0;     ///< of the same
    double summed_speed_up = 1.0;     ///< the sum of the heuristic's times over that of the tuned ones'
    double heuristic_of_tuned = 0.0;  ///< arithmetic mean of tuned over heuristic, of the same
    std::size_t compared = 0;         ///< how many shapes these are
    std::size_t searched = 0;         ///< shapes with a search in this run that ended with a choice
    std::size_t found = 0;            ///< of them, those where the strategy found what was chosen (TuneLiveOutcome)
    AlgebraReport algebra{};
    std::optional<Error> ended_by{};  ///< what ended the run early: a lost device, a table that cannot be written
};

/// Tunes each shape of the job that the table has no choice for (with `again`: each), sharing the time that is left
/// evenly. `device`: without a tuning table, for candidates name their configurations, and what a plan inside takes
/// must not change meanwhile; probed. Errors: those of the job, of the table at `table`, of the algebra's device.
[[nodiscard]] Result<TuneDeviceOutcome> tune_device(const Device& device, Dispatcher& dispatcher,
                                                    const std::filesystem::path& table,
                                                    const TuneDeviceOptions& options);

}  // namespace yolk::autotune
