// SPDX-License-Identifier: Apache-2.0
#include "yolk/cli/run.hpp"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <array>
#include <string>

#include "bench_command.hpp"
#include "check_command.hpp"
#include "devices_command.hpp"
#include "eval_command.hpp"
#include "options.hpp"
#include "output.hpp"
#include "train_command.hpp"
#include "tune_command.hpp"

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
    std::string see = "yolk --help";
    for (const CLI::App* command : app.get_subcommands()) see = "yolk " + command->get_name() + " --help";
    print_error(fmt::format("{} (see {})", error.what(), see));
    return kBadInput;
}

}  // namespace

int run(int argc, const char* const* argv) {
    CLI::App app("Yolk trains systems without backpropagation on any Vulkan device.", "yolk");
    app.set_version_flag("--version", std::string("yolk " YOLK_VERSION));
    app.require_subcommand(1);
    app.footer(kFooter);
    const std::array<Command, 6> commands{add_train_command(app), add_eval_command(app),  add_devices_command(app),
                                          add_check_command(app), add_bench_command(app), add_tune_command(app)};
    try {
        app.parse(argc, argv);
    } catch (const CLI::ParseError& error) {
        return report(app, error);
    }
    for (const Command& command : commands) {
        if (!command.app->parsed()) continue;
        const Result<int> code = command.run();
        if (!code) return report(code.error());
        if (const Result<void> written = finish_output(); !written) return report(written.error());
        return *code;
    }
    return kBadInput;
}

}  // namespace yolk::cli
