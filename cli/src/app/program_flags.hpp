// SPDX-License-Identifier: Apache-2.0
// A program that steps environments, on the command line (docs/host_environments.md).
#pragma once

#include <cstdint>
#include <string>

#include "app.hpp"
#include "yolk/host_environment.hpp"

namespace yolk::cli {

struct ProgramFlags {
    std::string command;          ///< empty: none
    std::uint32_t processes = 2;  ///< for each device, which work in turns
    std::uint32_t lanes = 0;      ///< 0: what the members need
    double seconds = 60.0;        ///< that an answer may take
};

void add_program_flags(App& app, ProgramFlags& flags);
/// Starts it, for `members` at once on as many devices. Errors: start_host_program's, a time outside its limits.
[[nodiscard]] Result<train::HostEnvironments> start_program(const ProgramFlags& flags, std::uint32_t members,
                                                            std::size_t devices);

}  // namespace yolk::cli
