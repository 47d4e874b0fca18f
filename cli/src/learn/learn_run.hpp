// SPDX-License-Identifier: Apache-2.0
// Runs over data sets, and files that describe a run: what `train`, `eval` and `replay` do of them.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "options.hpp"
#include "yolk/configuration.hpp"
#include "yolk/devices.hpp"

namespace yolk::cli {

struct LearnFlags {
    std::string devices;  ///< of --devices
    double audit = 0.0;
    CommonFlags common;
};

/// This rank's devices, opened after all ranks know that the settings of each are `good`.
[[nodiscard]] Result<std::vector<Device>> devices_to_learn_on(const Result<void>& good, const LearnFlags& flags);
/// They as one, with the audits and the other ranks of the call.
[[nodiscard]] Result<evolve::Devices> devices_of_run(const std::vector<Device>& devices, Determinism determinism,
                                                     std::uint64_t seed, const LearnFlags& flags);

/// What `train` is given beside its task: --set, and each flag that is a setting of yolk.toml.
[[nodiscard]] Result<std::vector<tasks::Override>> overrides_of(const App& train, const std::vector<std::string>& sets);

/// In a process that has joined others (ranks.hpp), one of them all. `configuration` is of a data set; its text is kept
/// in the output folder.
[[nodiscard]] Result<int> run_learning(const Result<tasks::Configuration>& configuration, const LearnFlags& flags);

/// Whether a file is a model that a run over a data set saved.
[[nodiscard]] bool is_model(const std::filesystem::path& file);

struct JudgeFlags {
    std::string data;  ///< --data; empty: the rows that the run kept back
    tasks::DataOptions options;
    CommonFlags common;
};
[[nodiscard]] Result<int> run_judge(const std::filesystem::path& model, const JudgeFlags& flags);

/// The log of a run over a data set, in its folder.
[[nodiscard]] Result<int> replay_learned(const std::filesystem::path& log, std::optional<std::uint32_t> generation,
                                         const std::filesystem::path& out, const CommonFlags& common);

}  // namespace yolk::cli
