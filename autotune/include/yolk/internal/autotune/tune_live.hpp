// SPDX-License-Identifier: Apache-2.0
// Tuning one shape on a device: search, finals, and what is written to the table.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>

#include "yolk/internal/autotune/live_surface.hpp"
#include "yolk/internal/autotune/run_journal.hpp"
#include "yolk/internal/autotune/tune_outcome.hpp"
#include "yolk/internal/autotune/tuner.hpp"
#include "yolk/internal/context/tuning_file.hpp"

namespace yolk::autotune {

struct TuneLiveOptions {
    TunerOptions tuner{};  ///< its budget counts what earlier runs measured of this shape, too
    bool again = false;    ///< what earlier runs measured is not believed; the choice so far still is to be beaten
    std::size_t candidate_limit = 2000;
    /// The search ends so early that its finals, too, end about then, but not before five evaluations: the second run
    /// is to find a choice.
    std::chrono::steady_clock::time_point deadline = std::chrono::steady_clock::time_point::max();
    /// Nothing begins after it: at most one evaluation goes on. Finals are cut down to what fits; where not even two
    /// finalists do, nothing is chosen, and the next run goes on from the samples.
    std::chrono::steady_clock::time_point limit = std::chrono::steady_clock::time_point::max();
    std::optional<std::uint64_t> cache_bytes{};  ///< LiveOptions'
    LimitOfUnit limit_of{};                      ///< LiveOptions'
    std::size_t finalists = 4;                   ///< besides the heuristic, the plain one and the choice so far
    /// Tried after what the table knows and before the strategy proposes; what the shape does not allow is passed over.
    std::vector<StoredConfiguration> portfolio{};
    std::function<bool(const LiveProgress&)> progress{};  ///< after each evaluation; false stops the search
};

/// What a table says about a shape before anything is measured.
struct KnownChoices {
    std::optional<TuningChoice> exact{};  ///< same device, driver and modules, same extents; one of the space
    /// Of the same key, but none of the space any more: a value that its knob has no longer, a constraint. No plan
    /// takes it, and what is measured now goes over it.
    std::optional<TuningChoice> outdated{};
    /// Those of the same device with another driver or other modules, of near shapes, and after them of other devices
    /// of the same architecture: measured first.
    std::vector<StoredConfiguration> to_validate{};
};
[[nodiscard]] KnownChoices known_choices(const std::vector<TuningChoice>& choices, const TuningKey& key,
                                         const TuningSpace& space);

/// Where the processes that tune into a table keep their journals.
[[nodiscard]] std::filesystem::path journal_folder(const std::filesystem::path& table);
/// How a process that tuned a kernel ended, where that is known.
struct KnownEnd {
    TuningKey key;
    std::string reason;
};
/// Quarantines what processes that are gone were running; how many configurations. Those of `known`'s key have failed
/// for its reason, and are measured with it.
[[nodiscard]] Result<std::size_t> recover_journals(const TuningFile& file, const KnownEnd* known = nullptr);

/// Measures the heuristic, what is known, then what the strategy asks for; the best few again, interleaved with
/// heuristic and earlier choice, and the fastest of them is written where it is faster beyond the noise, else what was
/// there, else the heuristic. Samples are in the file as soon as they are taken. Errors: device lost, those of the
/// file.
[[nodiscard]] Result<TuneLiveOutcome> tune_live(const Device& device, Dispatcher& dispatcher,
                                                const oracle::Problem& problem, const TuningFile& file,
                                                RunJournal& journal, const TuneLiveOptions& options);

}  // namespace yolk::autotune
