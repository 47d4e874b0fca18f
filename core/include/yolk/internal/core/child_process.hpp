// SPDX-License-Identifier: Apache-2.0
// Programs that run as children of this process: started without a fork of its threads, spoken to over their standard
// input and output, and ended with all that they started.
#pragma once

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <stop_token>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "yolk/result.hpp"

namespace yolk {

struct ChildProgram {
    std::vector<std::string>
        command{};  ///< the program, then its arguments; no shell. Without a slash: looked up in PATH
    std::filesystem::path directory{};                               ///< where it runs; empty: where the caller does
    std::vector<std::pair<std::string, std::string>> environment{};  ///< beside the caller's
    std::chrono::milliseconds timeout{60'000};                       ///< 0: none
    std::chrono::milliseconds silence{0};                            ///< of it while it is due to print; 0: no limit
    bool passes_errors = false;                                      ///< its standard error goes to ours as well
    std::chrono::milliseconds grace{500};                            ///< between SIGTERM and SIGKILL
    std::uint64_t max_output_bytes = std::uint64_t{16} << 20U;       ///< with an answer: that it has not taken
};

/// What came of one run.
struct ProgramRun {
    std::string output{};
    std::string error_tail{};  ///< the end of what it wrote to standard error, 2 KiB at most
    int status = 0;            ///< the exit status; 128 + the signal that ended it
    int signal = 0;            ///< the signal that ended it; 0: none
};

/// Errors: no command, a program or folder that does not exist or may not be run; all before anything runs.
[[nodiscard]] Result<void> check_program(const ChildProgram& program);

/// Takes from the front of what the program has printed so far whatever is whole, and gives what is written to it in
/// reply. An error ends the program, and the run with it; so does what the program has printed before that reply.
using ChildAnswer = std::function<Result<std::string>(std::string& output)>;

/// Runs it in a process group of its own with `input` on its standard input, which it need not read; with `answer` its
/// input stays open for replies. Where it takes too long, prints too much, or `stop` asks, the whole group gets
/// SIGTERM, then SIGKILL; what is left of the group when the program itself has ended is killed, too. (A child that has
/// left the group is not seen.) No process of ours stays behind, no descriptor of ours is open in it but the three
/// standard ones. Any thread.
/// Errors: as check_program's, and no process to be had; a time-out (`native` is ETIMEDOUT, of silence ETIME), a stop,
/// too much output; they quote the end of its standard error. An exit status other than 0 is not an error.
[[nodiscard]] Result<ProgramRun> run_program(const ChildProgram& program, std::string_view input,
                                             const std::stop_token& stop = std::stop_token{},
                                             const ChildAnswer& answer = {});

/// " Its standard error ends with: ..." or nothing.
[[nodiscard]] std::string quoted_errors(std::string_view tail);

}  // namespace yolk
