// SPDX-License-Identifier: Apache-2.0
// A command that several processes run together, started by an MPI launcher: who speaks, who owns which device, and how
// it ends.
#pragma once

#include <string>
#include <vector>

#include "options.hpp"
#include "yolk/device.hpp"
#include "yolk/internal/train/processes.hpp"
#include "yolk/result.hpp"

namespace yolk::cli {

/// Where a launcher started this process with others: joins them, and compares versions and binaries before anything
/// else is said. Errors: join_processes', on all ranks compare_programs'.
[[nodiscard]] Result<void> join_ranks(const CommonFlags& flags = {});
/// After it; null where this process is alone.
[[nodiscard]] train::Processes* ranks() noexcept;
/// Whether this process speaks for all.
[[nodiscard]] bool speaks_for_ranks() noexcept;
/// Before the command ends: MPI's end.
void leave_ranks() noexcept;

/// Prints an error once, whether it is one rank's, or every rank's. Where the others cannot know of it, all are ended.
/// The exit code otherwise.
[[nodiscard]] int report_on_ranks(const Error& error, int exit_code);
/// For mistakes in the call: those of all ranks, or of one, become one message.
[[nodiscard]] Error agree_on_mistake(Error error);
/// Where a launcher started several processes: a command that is for one of them is a mistake. `command`: as
/// App::named() has it.
[[nodiscard]] Result<void> check_command_of_ranks(const std::string& command);

/// The devices of this rank. Without a flag: a machine's GPUs are dealt among its ranks; where it has none, each uses
/// its best device. With the same --devices on all ranks of a machine, the list is dealt; else each takes its own.
/// Errors, on all ranks: open_devices' on any, a GPU that two ranks have.
[[nodiscard]] Result<std::vector<Device>> open_devices_of_rank(const std::string& list, const CommonFlags& flags,
                                                               train::Processes& processes);

}  // namespace yolk::cli
