// SPDX-License-Identifier: Apache-2.0
#include "command_line.hpp"

#include "last_defence.hpp"
#include "output.hpp"
#include "ranks.hpp"
#include "yolk/internal/core/log_level.hpp"

namespace yolk::cli {
namespace {

constexpr int kFailed = 1;
constexpr int kBadInput = 2;

constexpr const char* kFooter =
    "\nExit codes: 0 good, 1 failed work or a failed check, 2 bad input.\n"
    "Environment: YOLK_DEVICE (as --device), YOLK_LOG (debug, info, warning, error, off), YOLK_CACHE (folder of "
    "pipeline caches), YOLK_TABLE (file of the tuning table).\n";

int report(const Error& error) {
    return report_on_ranks(error, error.kind == ErrorKind::BadInput ? kBadInput : kFailed);
}

Result<int> run_parsed(const App& app, std::span<const Command> commands) {
    constexpr const char* kMissing = "The command is missing; --help lists them.";
    const std::string command = app.named();
    if (const Result<void> known = check_log_level(); !known) return agree_on_mistake(known.error());
    if (const Result<void> fits = check_command_of_ranks(command); !fits) return agree_on_mistake(fits.error());
    if (command.empty()) return agree_on_mistake(bad_input(kMissing));
    YOLK_TRY(const int code, with_last_defence([&] { return run_named(commands, kMissing); }));
    YOLK_TRY_VOID(finish_output());
    return code;
}

}  // namespace

void prepare(App& app) {
    app.set_version("yolk " YOLK_VERSION);
    app.set_footer(kFooter);
}

int parse_and_run(App& app, int argc, const char* const* argv, std::span<const Command> commands) {
    open_standard_streams();
    const Result<std::optional<int>> parsed = app.parse(argc, argv);
    if (parsed && *parsed) {
        const Result<void> written = finish_output();
        return written ? **parsed : report(written.error());
    }
    const Result<int> code = parsed ? run_parsed(app, commands) : Result<int>(agree_on_mistake(parsed.error()));
    const int exit_code = code ? *code : report(code.error());
    leave_ranks();
    return exit_code;
}

}  // namespace yolk::cli
