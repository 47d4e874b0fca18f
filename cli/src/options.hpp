// SPDX-License-Identifier: Apache-2.0
// Command-line flags whose values go through our own parsers, so that a mistake is told in our words; CLI11 does the
// rest.
#pragma once

#include <CLI/CLI.hpp>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>

#include "numbers.hpp"
#include "yolk/core/result.hpp"

namespace yolk::cli {

/// A subcommand and what runs it after a good parse; the value is the exit code.
struct Command {
    CLI::App* app = nullptr;
    std::function<Result<int>()> run;
};

/// `target` must outlive the app; it keeps its value as the default where the flag is not given.
template <class T, class Parser>
CLI::Option* add_parsed(CLI::App& app, const std::string& name, T& target, const std::string& help, Parser parse) {
    const auto check = [parse](const std::string& text) {
        const auto parsed = parse(std::string_view(text));
        return parsed ? std::string() : parsed.error().message;
    };
    const auto store = [parse, &target](const std::string& text) { target = parse(std::string_view(text)).value(); };
    return app.add_option_function<std::string>(name, store, help)->check(check, "", "");
}

template <class T>
CLI::Option* add_number(CLI::App& app, const std::string& name, T& target, const std::string& help) {
    return add_parsed(app, name, target, help, [](std::string_view text) { return parse_number<T>(text); })
        ->type_name(std::is_floating_point_v<T> ? "NUMBER" : "COUNT");
}

/// What every command that talks to a device offers.
struct CommonFlags {
    std::string device;      ///< index, UUID or part of a name; empty: $YOLK_DEVICE, else the best
    bool no_tuning = false;  ///< the tuning table is not looked into
    bool json = false;
    bool quiet = false;
};

inline void add_device_flag(CLI::App& app, CommonFlags& flags) {
    const auto not_empty = [](const std::string& text) {
        return text.empty() ? std::string("a device is an index, a UUID or a part of a name, not an empty text.")
                            : std::string();
    };
    app.add_option(
           "--device", flags.device,
           "Device: index, UUID or part of a name (`yolk devices` lists them; default $YOLK_DEVICE, else the best)")
        ->type_name("DEVICE")
        ->check(not_empty, "", "");
    app.add_flag("--no-tuning", flags.no_tuning, "Kernels take their defaults, whatever `yolk tune` found out");
}

inline void add_output_flags(CLI::App& app, CommonFlags& flags) {
    app.add_flag("--json", flags.json, "Standard output is JSON lines only; the last one is the outcome");
    app.add_flag("--quiet", flags.quiet, "No progress");
}

}  // namespace yolk::cli
