// SPDX-License-Identifier: Apache-2.0
// A run under way: its loop, and the files that it fills.
#pragma once

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "checkpoint.hpp"
#include "output_folder.hpp"
#include "run_devices.hpp"
#include "run_ranks.hpp"
#include "task_setup.hpp"
#include "yolk/evolution.hpp"
#include "yolk/run_log.hpp"

namespace yolk::train {

[[nodiscard]] inline double seconds_since(std::chrono::steady_clock::time_point start) {
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

/// What is written when a run ends: after a generation that went well, so always finite.
struct SavedState {
    std::vector<float> parameters, optimizer_state;
    std::uint32_t generations = 0;  ///< done
    bool solved = false;            ///< as of the last of them
    std::string state_hash{};       ///< empty where no generation of any process was done
};

/// A run under way: what its loop needs besides the evolution.
struct Run {
    RunDevices& devices;
    const RunRanks& ranks;
    const TrainOptions& options;
    const TaskSetup& setup;
    evolve::Evolution& evolution;
    const std::optional<Checkpoint>& from;  ///< where it goes on; nothing where it begins
    MetricsFile metrics;
    std::optional<WriterLock> lock{};  ///< of the output folder
    SavedState last{};                 ///< that was on the host
    std::optional<evolve::RunLogWriter> log{};
    bool folder_is_taken = false;    ///< what was in it before is set aside, or is this run's own
    bool folder_is_remade = false;   ///< somebody removed it
    bool checkpoint_is_due = false;  ///< whatever was asked for
    evolve::Traffic traffic_before = ranks.traffic();
    std::chrono::steady_clock::time_point start = std::chrono::steady_clock::now();
    std::uint64_t evaluations = 0;
    std::uint32_t in_checkpoint = 0;  ///< generations of this run that the checkpoint in the folder has
    TrainOutcome outcome{};

    Result<void> begin();
    Result<GenerationReport> step();
    Result<void> score_policy(GenerationReport& report);
    Result<void> write_metrics(const GenerationReport& report);
    void count_shares(std::span<const evolve::WorkerShare> shares);
    [[nodiscard]] bool has_gone_back(const GenerationReport& report) const;
    Result<void> go_back(std::uint32_t generation);
    Result<void> take_folder();
    [[nodiscard]] Result<void> check_folder() const;
    [[nodiscard]] bool has_folder_to_save_in();
    Result<void> cut_files(std::uint32_t generation);
    void keep_beginning();
    Result<void> write_log(const GenerationReport& report);
    void take_state_from_log(const Error& error);
    void keep_state(std::string state_hash);
    Result<void> catch_up();
    Result<void> save_checkpoint(bool finished);
    [[nodiscard]] bool checkpoint_due(std::uint32_t generations) const;
    [[nodiscard]] bool hash_due(std::uint32_t generations) const;
    [[nodiscard]] bool at_its_end() const;
    Result<void> loop(const OnGeneration& on_generation);
    Result<RunEnd> after_generation(const GenerationReport& report, const OnGeneration& on_generation);
    void count_ranks(GenerationReport& report);
    Result<void> save_end();
    [[nodiscard]] Error save_what_is_good(Error error);
    [[nodiscard]] Error save_last(Error error);
    [[nodiscard]] Error with_way_on(Error error) const;
};

/// The policy's file; empty where nothing is written.
[[nodiscard]] Result<std::filesystem::path> save(const Run& run);

}  // namespace yolk::train
