// SPDX-License-Identifier: Apache-2.0
// Calls of a model on loopback, by the chat module's own program: the command has no HTTP client.
#include <fmt/format.h>

#include <sstream>

#include "suite_row.hpp"
#include "yolk/internal/core/child_process.hpp"
#include "yolk/internal/core/worker.hpp"
#include "yolk/json.hpp"

namespace yolk::cli {
namespace {

constexpr const char* kProgram = "yolk-model-calls";
constexpr unsigned kCalls = 256, kAtOnce = 16, kMilliseconds = 5;

Result<SuiteRow> measure_calls(const RunBudget& budget) {
    const std::filesystem::path program = find_program(kProgram);
    if (program.empty())
        return unsupported(
            "the program {} is not beside this one; build it in a checkout: cmake --build FOLDER --target "
            "yolk_model_calls",
            kProgram);
    const auto text = [](auto value) { return std::to_string(value); };
    YOLK_TRY(const ProgramRun run, run_program({.command = {program.string(), text(kCalls), text(kAtOnce),
                                                            text(kMilliseconds), text(budget.fewest + 1)}},
                                               ""));
    if (run.status != 0) return io_error(fmt::format("{} failed.{}", kProgram, quoted_errors(run.error_tail)), 0);
    SuiteRow row{.group = {}, .name = {}, .unit = "calls/s", .items = kCalls};
    row.limit_of = "the server's waits";
    std::istringstream lines(run.output);
    for (std::string line; std::getline(lines, line);) {
        YOLK_TRY(const Json json, parse_json(line, kProgram));
        row.runs.wall.push_back(json.value("seconds", 0.0));
        row.limit = kCalls / json.value("ideal_seconds", 0.0);
    }
    if (row.runs.wall.size() < 2) return io_error(fmt::format("{} ended without its runs.", kProgram), 0);
    row.runs.wall.erase(row.runs.wall.begin());  // which opened the connections
    return row;
}

}  // namespace

std::vector<SuiteJob> text_jobs() {
    return {{"text", fmt::format("{} model calls of {} ms on loopback, {} at once", kCalls, kMilliseconds, kAtOnce),
             true, [](const Context&, const RunBudget& budget) { return measure_calls(budget); }}};
}

}  // namespace yolk::cli
