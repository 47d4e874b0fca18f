// SPDX-License-Identifier: Apache-2.0
#include "options.hpp"

namespace yolk::cli {

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
