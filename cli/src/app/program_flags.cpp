// SPDX-License-Identifier: Apache-2.0
#include "program_flags.hpp"

#include "options.hpp"

namespace yolk::cli {

void add_program_flags(App& app, ProgramFlags& flags) {
    const Option* const program =
        app.add_option("--program", flags.command,
                       "Program that steps the environments on the host, such as 'python3 my_env.py' "
                       "(docs/host_environments.md)")
            ->type_name("COMMAND");
    app.group(with(program), [&] {
        add_number(app, "--processes", flags.processes,
                   "Processes of it for each device; while one steps, the device computes for another")
            ->default_str("2");
        add_number(app, "--lanes", flags.lanes, "Environments in each process; 0: all that the members need")
            ->default_str("0");
        add_number(app, "--program-seconds", flags.seconds, "Time that its start and each answer may take")
            ->default_str("60");
    });
}

Result<train::HostEnvironments> start_program(const ProgramFlags& flags, std::uint32_t members, std::size_t devices) {
    if (!(flags.seconds > 0.0 && flags.seconds <= 1e6))
        return bad_input("--program-seconds is {}; above 0, at most 1e6.", flags.seconds);
    const std::uint64_t processes = std::uint64_t{flags.processes} * devices;
    if (processes > UINT32_MAX) return bad_input("--processes is {}; fewer are needed.", flags.processes);
    const auto count = static_cast<std::uint32_t>(processes);
    return train::start_host_program({.command = flags.command,
                                      .processes = count,
                                      .lanes = flags.lanes == 0 ? train::host_lanes(members, count) : flags.lanes,
                                      .timeout = std::chrono::duration_cast<std::chrono::milliseconds>(
                                          std::chrono::duration<double>(flags.seconds))});
}

}  // namespace yolk::cli
