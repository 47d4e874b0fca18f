// SPDX-License-Identifier: Apache-2.0
// Hyperfunctions and metrics that are programs: one process per call, a JSON object on its standard input, the answer
// from what it prints or how it ends.
#pragma once

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <stop_token>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "yolk/internal/core/child_process.hpp"
#include "yolk/internal/hyper/host_function.hpp"
#include "yolk/internal/hyper/hyperfunction.hpp"
#include "yolk/internal/hyper/metric.hpp"
#include "yolk/internal/hyper/parameters.hpp"
#include "yolk/result.hpp"

namespace yolk::hyper {

/// What of a program is its answer.
enum class ProgramAnswer {
    LastLine,    ///< the last line that is not blank, a JSON value: a number, true, "text", an array (a tensor)
    WholeText,   ///< all that it prints, as text, without the last line break
    ExitStatus,  ///< as a number
    Success,     ///< 1 for exit status 0, 0 for others: a test suite's verdict
};

struct Program {
    std::vector<std::string>
        command{};  ///< the program, then its arguments; no shell. Without a slash: looked up in PATH
    std::filesystem::path directory{};                               ///< where it runs; empty: where the caller does
    std::vector<std::pair<std::string, std::string>> environment{};  ///< beside the caller's
    ProgramAnswer answer = ProgramAnswer::LastLine;
    bool any_status = false;  ///< LastLine and WholeText: whether it may end with another status than 0
    std::chrono::milliseconds timeout{60'000};  ///< 0: none
    std::chrono::milliseconds grace{500};       ///< between SIGTERM and SIGKILL
    std::uint64_t max_output_bytes = std::uint64_t{16} << 20U;
};

using yolk::ProgramRun;

/// As yolk::check_program and yolk::run_program (yolk/internal/core/child_process.hpp): errors are theirs.
[[nodiscard]] Result<void> check_program(const Program& program);
[[nodiscard]] Result<ProgramRun> run_program(const Program& program, std::string_view input,
                                             const std::stop_token& stop = std::stop_token{});

/// What of a run is the answer. Integers in it, but for those in lists, are numbers, so that 1 and .5 are of one type;
/// one that no double holds stays. Errors: an exit status other than 0 where it counts, nothing printed, a last line
/// that is no value; they quote the output and standard error.
[[nodiscard]] Result<Value> program_answer(const Program& program, const ProgramRun& run);

/// A host function that runs it: {"parameters": {"name": value, ...}, "operands": [...]} on one line. Integers,
/// booleans and choices (as text) as such; parameters without fields are an array. The program's time-out is the
/// function's where that has none. Its answers are conformed() to the type of `stand_in`; without one they are
/// program_answer's. Errors: check_program's, validate's of the fields.
[[nodiscard]] Result<HostFunctionPtr> host_function_from_program(std::string name, Program program,
                                                                 std::vector<Field> fields, HostOptions options = {},
                                                                 std::optional<Value> stand_in = std::nullopt);

/// The same with the fields as tunable parameters, which begin at their defaults.
[[nodiscard]] Result<AnyHyperfunction> program_hyperfunction(std::string name, Program program,
                                                             std::vector<Field> fields, std::size_t arity = 1,
                                                             HyperfunctionOptions options = {});

/// A metric that runs it once per candidate: {"predictions": [...], "expected": [...]} on one line; the answer is the
/// reward. Errors: check_program's, and WholeText, which is no number.
[[nodiscard]] Result<Metric> program_metric(Program program, std::string name = "program");

}  // namespace yolk::hyper
