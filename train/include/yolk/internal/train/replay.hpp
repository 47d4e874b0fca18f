// SPDX-License-Identifier: Apache-2.0
// The weights after any generation of a run, from its log (yolk/run_log.hpp). Nothing is evaluated: neither the
// environment nor its file is needed, and any device will do, or none.
#pragma once

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <optional>
#include <string>

#include "yolk/context.hpp"
#include "yolk/devices.hpp"
#include "yolk/dispatcher.hpp"
#include "yolk/result.hpp"

namespace yolk::train {

struct ReplayOptions {
    /// Generations to apply: 0 gives the first values, 1 the state that the first line of metrics names. Unset: all.
    std::optional<std::uint32_t> generation{};
    /// Where set, a folder, made if missing: policy.safetensors of that state, and beyond generation 0 checkpoint.yolk
    /// and a log.yolk that ends there, so that training goes on from it (TrainOptions::resume). A folder that a run has
    /// trained in, with metrics.jsonl, is refused.
    std::filesystem::path out{};
    std::chrono::nanoseconds hang_limit = DispatcherOptions{}.hang_limit;
};

struct ReplayOutcome {
    std::string task{};
    std::uint64_t seed = 0;
    std::uint32_t population = 0;
    std::uint32_t generations_in_log = 0;
    std::uint64_t torn_bytes = 0;  ///< at the log's end: an unfinished generation that was not read
    std::uint32_t generation = 0;  ///< applied
    std::string state_hash{}, state_digest{};
    /// Float rules: the number of generations after which the state first differs from what the log says, as it may on
    /// another device (evolve::replay_log).
    std::optional<std::uint32_t> differs_from{};
    double seconds = 0.0;
    std::filesystem::path policy{}, checkpoint{};  ///< what was written; empty where nothing was
};

/// A log, and whose it is.
struct FoundLog {
    std::filesystem::path file{};
    std::string system{};   ///< whose search it is of; empty: it is of a policy's training, or of bytes
    bool is_bytes = false;  ///< of a byte model's training (yolk/bytes.hpp)
};
/// `given`: a log, or the folder that has it as log.yolk. Errors: a log that is missing, foreign, damaged, or of a
/// later version.
[[nodiscard]] Result<FoundLog> find_log(const std::filesystem::path& given);

/// Called after each generation with the number applied and how many there are to be; returning false ends the replay
/// with an error, Cancelled, and nothing is written.
using OnReplayProgress = std::function<bool(std::uint32_t done, std::uint32_t all)>;

/// `log`: a log, or the folder of a run, which has it as log.yolk. Errors: a log that is missing, foreign, damaged, of
/// a later version, of another network than its settings say, or that begins after generation 0; a generation past its
/// end; an integer rule's state that differs from the log's (Failed, with the generation); a folder that cannot be
/// written, or that a run has trained in.
/// On one device, the first of several; on Devices::none() by the exact twin on the host, which replays no run in fast
/// mode.
[[nodiscard]] Result<ReplayOutcome> replay(const evolve::Devices& devices, const std::filesystem::path& log,
                                           const ReplayOptions& options = {}, const OnReplayProgress& progress = {});

}  // namespace yolk::train
