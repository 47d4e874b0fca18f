// SPDX-License-Identifier: Apache-2.0
#include "command_line.hpp"

#include <fmt/format.h>

#include <string>

#include "last_defence.hpp"
#include "output.hpp"

namespace yolk::cli {
namespace {

constexpr int kFailed = 1;
constexpr int kBadInput = 2;

constexpr const char* kFooter =
    "\nExit codes: 0 good, 1 failed work or a failed check, 2 bad input.\n"
    "Environment: YOLK_DEVICE (as --device), YOLK_LOG (debug, info, warning, error, off), YOLK_CACHE (folder of "
    "pipeline caches), YOLK_TABLE (file of the tuning table).\n";

int report(const Error& error) {
    print_error(error.message);
    return error.kind == ErrorKind::BadInput ? kBadInput : kFailed;
}

/// Help and version are printed and end well; any other outcome of parsing is bad input. CLI11 throws, nothing else
/// here does.
int report(const CLI::App& app, const CLI::ParseError& error) {
    if (error.get_exit_code() == static_cast<int>(CLI::ExitCodes::Success)) return app.exit(error);
    std::string see = app.get_name();
    for (const CLI::App* at = &app; !at->get_subcommands().empty();) {
        at = at->get_subcommands().front();
        see += " " + at->get_name();
    }
    see += " --help";
    print_error(fmt::format("{} (see {})", error.what(), see));
    return kBadInput;
}

}  // namespace

void prepare(CLI::App& app) {
    app.set_version_flag("--version", std::string("yolk " YOLK_VERSION));
    app.require_subcommand(1);
    app.footer(kFooter);
}

int parse_and_run(CLI::App& app, int argc, const char* const* argv, std::span<const Command> commands) {
    try {
        app.parse(argc, argv);
    } catch (const CLI::ParseError& error) {
        return report(app, error);
    }
    for (const Command& command : commands) {
        if (!command.app->parsed()) continue;
        const Result<int> code = with_last_defence(command.run);
        if (!code) return report(code.error());
        if (const Result<void> written = finish_output(); !written) return report(written.error());
        return *code;
    }
    return kBadInput;
}

}  // namespace yolk::cli
