// SPDX-License-Identifier: Apache-2.0
#include "options.hpp"

#include "yolk/dispatcher.hpp"

namespace yolk::cli {
namespace {

Option* add_seconds(App& app, const std::string& name, double& target, const std::string& help) {
    const auto parse = [](std::string_view text) -> Result<double> {
        constexpr double kLeast = 0.001;
        constexpr double kMost = 1e6;
        YOLK_TRY(const double seconds, parse_number<double>(text));
        if (seconds >= kLeast && seconds <= kMost) return seconds;
        return bad_input("{} is outside the range from {} to {} seconds.", text, kLeast, kMost);
    };
    return add_parsed(app, name, target, help, parse)->type_name("SECONDS");
}

}  // namespace

Result<int> run_named(std::span<const Command> commands, const std::string& otherwise) {
    for (const Command& command : commands) {
        if (command.app->parsed()) return command.run();
    }
    return bad_input(otherwise);
}

void add_device_choice(App& app, CommonFlags& flags) {
    const auto read = [&flags](const std::string& text) -> Result<void> {
        if (text.empty()) return bad_input("a device is an index, a UUID or a part of a name, not an empty text.");
        flags.device = text;
        return {};
    };
    app.add_value(
           "--device", read,
           "Device: index, UUID or part of a name (`yolk devices` lists them; default $YOLK_DEVICE, else the best)")
        ->type_name("DEVICE");
    add_seconds(app, "--hang-seconds", flags.hang_seconds,
                "A device on which nothing has moved for so long hangs, and is given up")
        ->default_str("120");
}

void add_rank_flag(App& app, CommonFlags& flags) {
    add_seconds(app, "--rank-seconds", flags.rank_seconds,
                "Of several processes: one that has not come or answered for so long ends the run")
        ->default_str("600");
}

std::chrono::nanoseconds hang_limit_of(const CommonFlags& flags) {
    if (flags.hang_seconds == 0.0) return DispatcherOptions{}.hang_limit;
    return std::chrono::duration_cast<std::chrono::nanoseconds>(std::chrono::duration<double>(flags.hang_seconds));
}

void add_device_flag(App& app, CommonFlags& flags) {
    add_device_choice(app, flags);
    app.add_flag("--no-tuning", flags.no_tuning, "Ignore the tuning table; kernels take their defaults");
}

Option* add_devices_flag(App& app, std::string& devices) {
    Option* const option =
        app.add_option("--devices", devices,
                       "Several devices together, of any vendor: all, or a list such as 0,1 or llvmpipe,SwiftShader")
            ->type_name("LIST");
    app.option("--device")->only(without(option));
    return option;
}

void add_output_flags(App& app, CommonFlags& flags) {
    app.add_flag("--json", flags.json, "Standard output is JSON lines only; the last one is the outcome");
    app.add_flag("--quiet", flags.quiet, "No progress");
}

}  // namespace yolk::cli
