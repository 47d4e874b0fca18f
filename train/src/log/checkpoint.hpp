// SPDX-License-Identifier: Apache-2.0
// A run that can go on: all that its next generation depends on, as a state file (yolk/internal/core/state_file.hpp)
// with the tensors "parameters" and "optimizer_state". Reading trusts nothing.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "yolk/result.hpp"
#include "yolk/train.hpp"

namespace yolk::train {

/// Name and value, as text from which the value comes back exactly.
using Settings = std::vector<std::pair<std::string, std::string>>;

struct Checkpoint {
    Settings settings;             ///< run_settings of the run
    std::uint32_t generation = 0;  ///< done
    bool solved = false;           ///< as of its last generation
    bool finished = false;         ///< the run came to its own end: solved, or all its generations done
    std::string state_hash;        ///< evolve::state_hash of the three
    std::vector<float> parameters;
    std::vector<float> optimizer_state;
};

/// Every setting that the bits of a run depend on, and none besides: `generations` and the like may change.
[[nodiscard]] Settings run_settings(const TrainOptions& options, const EnvironmentInfo& environment);

[[nodiscard]] Result<std::vector<std::byte>> encode_checkpoint(const Checkpoint& checkpoint);

/// `what` names the bytes in errors. Errors, all BadInput: decode_state's; a state that is at odds with itself.
[[nodiscard]] Result<Checkpoint> decode_checkpoint(std::span<const std::byte> bytes, std::string_view what);

/// Whole or not at all. Errors: Io.
[[nodiscard]] Result<void> write_checkpoint(const std::filesystem::path& path, const Checkpoint& checkpoint);
/// Errors: decode_checkpoint's; a file that is missing or cannot be read.
[[nodiscard]] Result<Checkpoint> load_checkpoint(const std::filesystem::path& path);

/// Whether a checkpoint that load_checkpoint refused may be passed over where the run's log has everything: it is
/// missing, damaged, foreign or in an older format, and not one that a later version of Yolk wrote.
[[nodiscard]] bool may_do_without(const std::filesystem::path& path, const Error& refused);

/// Whether a run with these options has the settings that a file stored. Error: a setting that differs (named, with
/// both values), is missing or unknown.
[[nodiscard]] Result<void> check_settings(const Settings& stored, const TrainOptions& options,
                                          const EnvironmentInfo& environment, std::string_view what);

/// Whether a run with these options may go on from it. Errors: a setting that differs (named, with both values), arrays
/// of other sizes, more generations than the run is to have.
[[nodiscard]] Result<void> check_resumable(const Checkpoint& checkpoint, const TrainOptions& options,
                                           const EnvironmentInfo& environment, std::uint32_t element_count,
                                           std::string_view what);

}  // namespace yolk::train
