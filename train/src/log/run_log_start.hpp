// SPDX-License-Identifier: Apache-2.0
// Where a run begins: anew, from its checkpoint, or from its log where that goes further.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "checkpoint.hpp"
#include "task_setup.hpp"
#include "yolk/device.hpp"
#include "yolk/result.hpp"
#include "yolk/run_log.hpp"
#include "yolk/train.hpp"

namespace yolk::train {

struct Start {
    std::optional<Checkpoint> from{};           ///< the state to go on from; nothing where a run begins
    std::uint32_t in_checkpoint = 0;            ///< generations that the checkpoint in the folder has of it
    std::optional<evolve::RunLogWriter> log{};  ///< nothing where none is written
};

/// Changes nothing. To resume, the log's generations after the checkpoint's are applied on `device`, as far as the
/// metrics lead; without a usable checkpoint, or with one of another run, the log's beginning is where it starts.
/// Errors: no folder; neither a checkpoint nor a log; a log that is damaged, foreign or of a later version; settings
/// that are not the run's (named, with both values); a log that does not go on from the checkpoint, or whose
/// generations lead elsewhere.
[[nodiscard]] Result<Start> find_start(const Device& device, const TrainOptions& options, const TaskSetup& setup);

/// Zeros, as the optimizer's arrays begin.
[[nodiscard]] std::vector<float> initial_optimizer_state(const TrainOptions& options, const TaskSetup& setup);

/// "'out' had a run that was interrupted after generation 7.", of the run in `folder`.
[[nodiscard]] std::string describe_run(const std::filesystem::path& folder, const std::filesystem::path& name);

}  // namespace yolk::train
