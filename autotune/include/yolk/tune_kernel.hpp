// SPDX-License-Identifier: Apache-2.0
// Tuning a compute shader of a user's own, over devices that its configurations may take down.
#pragma once

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "yolk/internal/autotune/tune_outcome.hpp"
#include "yolk/internal/autotune/user_kernel.hpp"
#include "yolk/internal/core/json_fwd.hpp"
#include "yolk/result.hpp"
#include "yolk/tune.hpp"

namespace yolk::autotune {

/// A device with what runs on it; made anew where a candidate has taken it.
struct Machine {
    Device device;
    Dispatcher dispatcher;
};

/// How many devices a search may lose before it gives up.
inline constexpr int kMostLostDevices = 8;

struct TuneUserKernelOptions {
    std::string strategy = "natural";
    std::uint32_t budget = kDefaultTuningBudget;
    std::uint64_t seed = 1;
    std::chrono::duration<double> time = kDefaultTuningTime;
    bool again = false;              ///< although the table has a choice
    std::filesystem::path record{};  ///< TuneDeviceOptions'
    std::function<Result<Machine>()> open_machine{};
    std::chrono::milliseconds hang_limit{};  ///< of a worker's dispatcher; 0: the dispatcher's own
    std::function<bool(const std::string& shape, const LiveProgress&)> progress{};  ///< false stops the search
    std::function<void()> ended{};                                                  ///< after each search
    std::function<bool()> goes_on{};  ///< asked before a search goes on with a new device
};

struct TuneUserKernelOutcome {
    std::filesystem::path table;
    TuningKey key;
    std::string device;
    std::string driver;                       ///< its name and version
    std::optional<TuneLiveOutcome> search{};  ///< of this run, where there was one
    TuningChoice choice{};                    ///< what won now or in an earlier run
    /// The search came to its end, now or in an earlier run. Otherwise the choice is the fastest so far, the next run
    /// goes on from the samples, and the table has no choice.
    bool decided = false;
    /// The choice as the space orders it; nothing where nothing that is right has been measured.
    std::optional<Configuration> configuration{};
    bool any_right = false;              ///< some configuration has been measured and is right
    std::vector<std::string> reasons{};  ///< why others failed, each once, the most frequent first
    /// Values of the space that no sample has, "wx = 256", where the choice is of an earlier run: lists may have been
    /// extended since.
    std::vector<std::string> untried{};
    double seconds = 0.0;
};

/// `machine` was used to create the kernel; it may be another one after the call. On a CPU driver configurations run in
/// a worker (docs/adr/0039). Errors: those of the table at `table`, of the device, a device lost too often, a worker
/// that is not there or that ends outside of a configuration.
[[nodiscard]] Result<TuneUserKernelOutcome> tune_user_kernel(std::optional<Machine>& machine, const UserKernel& kernel,
                                                             const std::filesystem::path& table,
                                                             const TuneUserKernelOptions& options);

/// The file for an engine (docs/own_kernels.md): {"yolk_kernel": 1, "shader", ..., "configuration", "specialization",
/// "defines", "dispatch", "push_constants", ...}. `outcome` has a configuration.
[[nodiscard]] Json winner_json(const UserKernel& kernel, const TuneUserKernelOutcome& outcome,
                               const std::filesystem::path& shader);

}  // namespace yolk::autotune
