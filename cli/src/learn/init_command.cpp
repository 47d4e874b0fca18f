// SPDX-License-Identifier: Apache-2.0
#include "init_command.hpp"

#include <filesystem>
#include <memory>
#include <system_error>

#include "output.hpp"
#include "yolk/configuration.hpp"
#include "yolk/internal/core/file.hpp"
#include "yolk/internal/core/printable.hpp"
#include "yolk/json.hpp"

namespace yolk::cli {
namespace {

struct InitFlags {
    std::filesystem::path file = "yolk.toml";
    tasks::RunKind kind = tasks::RunKind::Data;
    CommonFlags common;
};

Result<tasks::RunKind> parse_run_kind(std::string_view word) {
    if (word == "data") return tasks::RunKind::Data;
    if (word == "environment") return tasks::RunKind::Environment;
    return bad_input("there are runs for data and for environment, not for '{}'.", shown(word));
}

Result<int> run_init(const InitFlags& flags) {
    std::error_code ignored;
    if (std::filesystem::exists(flags.file, ignored)) {
        return bad_input("'{}' is there already, and is left as it is. Remove it, or name another file.",
                         shown(flags.file));
    }
    YOLK_TRY_VOID(write_file_atomically(flags.file, to_toml(tasks::Configuration{.kind = flags.kind})));
    return print_outcome(flags.common.json, {{"file", flags.file.string()}},
                         fmt::format("wrote {}; edit it, then: {} train {}", shown(flags.file), command_name(),
                                     shell_quoted(flags.file.string())));
}

}  // namespace

Command add_init_command(App& app) {
    const auto flags = std::make_shared<InitFlags>();
    App* const command = app.add_subcommand("init", "Write a yolk.toml with every setting of a run, explained");
    command->add_option("file", flags->file, "The file, which must not be there yet")
        ->type_name("FILE")
        ->default_str("yolk.toml");
    add_parsed(*command, "--for", flags->kind, "data or environment: what the run is over", &parse_run_kind)
        ->type_name("KIND")
        ->default_str("data");
    command->add_flag("--json", flags->common.json, "Standard output is JSON");
    return {command, [flags] { return run_init(*flags); }};
}

}  // namespace yolk::cli
