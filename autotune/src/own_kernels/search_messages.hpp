// SPDX-License-Identifier: Apache-2.0
// What a process and the worker that searches for it tell each other.
#pragma once

#include "yolk/internal/core/worker.hpp"
#include "yolk/tune_kernel.hpp"

namespace yolk::autotune {

struct SearchRequest {
    UserKernelFiles files;
    std::filesystem::path table;
    std::string kernel;  ///< the key's variant: what the files say must be what they said before
    std::uint32_t device_index = 0;
    std::string device_uuid;
    std::string device_name;
    std::string strategy;
    std::uint32_t budget = 0;
    std::uint64_t seed = 0;
    bool again = false;
    double seconds = 0.0;
    std::int64_t hang_milliseconds = 0;
};
[[nodiscard]] WorkerMessage message_of(const SearchRequest& request);
[[nodiscard]] Result<SearchRequest> search_request(const WorkerMessage& message);

// What a worker asks: the first field.
inline constexpr std::string_view kStage = "stage", kProgress = "progress";
// A stage, and the end of a sentence.
inline constexpr std::string_view kRunsReference = "running the reference";
// What it is told.
inline constexpr std::string_view kGoOn = "go on", kEnd = "end";

[[nodiscard]] WorkerMessage message_of(const LiveProgress& progress);
[[nodiscard]] Result<LiveProgress> live_progress(const WorkerMessage& message);

/// The whole choice except its key and its heuristic.
[[nodiscard]] WorkerMessage message_of(const TuneLiveOutcome& outcome);
[[nodiscard]] Result<TuneLiveOutcome> live_outcome(const WorkerMessage& message, const TuningKey& key);

}  // namespace yolk::autotune
