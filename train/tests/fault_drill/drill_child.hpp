// SPDX-License-Identifier: Apache-2.0
// One run of the drill, in a process of its own (or several, under mpirun): trains, and something goes wrong.
#pragma once

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <span>
#include <string>

#include "yolk/train.hpp"

namespace yolk::train {

/// What goes wrong in a child, and when.
struct DrillFault {
    /// "none", "kill": this process by SIGKILL, "lost": the nth call that can lose a device does, "hung": submissions
    /// of one device are never run, "wrong": one device's kernels add where they multiply, "full": files may grow to so
    /// many bytes and no further.
    std::string kind = "none";
    std::uint32_t number = 0;      ///< which call, how many bytes, or after how many microseconds
    std::uint32_t generation = 0;  ///< that has ended when it begins
    std::uint32_t rank = 0;        ///< that it strikes, under mpirun
    std::uint32_t device = 1;      ///< that it strikes, from 1
    bool both = false;             ///< under mpirun: each rank has both devices, and not one of them
    bool system = false;           ///< a search over a system, and not the training of a policy
};
[[nodiscard]] std::string to_text(const DrillFault& fault);
[[nodiscard]] DrillFault parse_fault(const std::string& text);

/// The run that each child makes: 64 members, 8 generations, momentum, checkpoints every 3 generations.
[[nodiscard]] TrainOptions drill_options(const std::filesystem::path& out);

/// What a child does to its run.
struct Strike {
    std::span<const Device> devices;
    evolve::Exchange* exchange = nullptr;
    double audit = 0.0;
    std::chrono::nanoseconds hang_limit = DispatcherOptions{}.hang_limit;
    std::function<void(std::uint32_t generations)> on_generation{};  ///< done
};
/// The same over a system: 64 members, 8 generations, momentum. Its checkpoint and log are those of the policy's run.
[[nodiscard]] Result<std::string> drill_system(const std::filesystem::path& out, bool resume, const Strike& strike);

/// Arguments: folder, fault, "resume" or "begin". Prints "state HASH" and gives 0, after "dropped" and the reason where
/// a device was; else the error on standard error, and 1.
[[nodiscard]] int run_drill_child(int argc, char** argv);

}  // namespace yolk::train
