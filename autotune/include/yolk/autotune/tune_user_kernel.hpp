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

#include "yolk/autotune/tune_device.hpp"
#include "yolk/autotune/tune_live.hpp"
#include "yolk/autotune/user_kernel.hpp"
#include "yolk/core/json_fwd.hpp"
#include "yolk/core/result.hpp"

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
    /// Called with the time that is left where a CPU driver's device was lost: its thread may never end, and only a new
    /// process is rid of it. Where it returns, the search ends with the loss as its error.
    std::function<void(std::chrono::duration<double> left)> start_again{};
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
    /// The choice as the space orders it; nothing where none was made: stopped too early, or nothing is right.
    std::optional<Configuration> configuration{};
    bool any_right = false;              ///< some configuration has been measured and is right
    std::vector<std::string> reasons{};  ///< why others failed, each once, the most frequent first
    /// Values of the space that no sample has, "wx = 256", where the choice is of an earlier run: lists may have been
    /// extended since.
    std::vector<std::string> untried{};
    double seconds = 0.0;
};

/// `machine` was used to create the kernel; it may be another one after the call. Errors: those of the table at
/// `table`, of the device, a device lost too often.
[[nodiscard]] Result<TuneUserKernelOutcome> tune_user_kernel(std::optional<Machine>& machine, const UserKernel& kernel,
                                                             const std::filesystem::path& table,
                                                             const TuneUserKernelOptions& options);

/// The file for an engine (docs/own_kernels.md): {"yolk_kernel": 1, "shader", ..., "configuration", "specialization",
/// "defines", "dispatch", "push_constants", ...}. `outcome` has a configuration.
[[nodiscard]] Json winner_json(const UserKernel& kernel, const TuneUserKernelOutcome& outcome,
                               const std::filesystem::path& shader);

}  // namespace yolk::autotune
