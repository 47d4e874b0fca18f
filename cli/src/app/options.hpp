// SPDX-License-Identifier: Apache-2.0
// Flags whose values go through our own parsers, so that a mistake is told in our words, and those that many commands
// share.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>

#include "app.hpp"
#include "numbers.hpp"
#include "yolk/result.hpp"

namespace yolk::cli {

/// A subcommand and what runs it after a good parse; the value is the exit code.
struct Command {
    App* app = nullptr;
    std::function<Result<int>()> run;
};
/// Runs the one that the call named. Error (BadInput): it named none; `otherwise` says what to do.
[[nodiscard]] Result<int> run_named(std::span<const Command> commands, const std::string& otherwise);

/// `target` must outlive the app; it keeps its value as the default where the flag is not given.
template <class T, class Parser>
Option* add_parsed(App& app, const std::string& name, T& target, const std::string& help, Parser parse) {
    const auto read = [parse, &target](const std::string& text) -> Result<void> {
        YOLK_TRY(target, parse(std::string_view(text)));
        return {};
    };
    return app.add_value(name, read, help);
}

template <class T>
Option* add_number(App& app, const std::string& name, T& target, const std::string& help) {
    return add_parsed(app, name, target, help, [](std::string_view text) { return parse_number<T>(text); })
        ->type_name(std::is_floating_point_v<T> ? "NUMBER" : "COUNT");
}

/// What every command that talks to a device offers.
struct CommonFlags {
    std::string device;         ///< index, UUID or part of a name; empty: $YOLK_DEVICE, else the best
    bool no_tuning = false;     ///< the tuning table is not looked into
    double hang_seconds = 0.0;  ///< 0: the default
    double rank_seconds = 0.0;  ///< likewise
    bool json = false;
    bool quiet = false;
};

/// What --hang-seconds says, else the default.
[[nodiscard]] std::chrono::nanoseconds hang_limit_of(const CommonFlags& flags);

/// --device and --hang-seconds.
void add_device_choice(App& app, CommonFlags& flags);
/// The same and --no-tuning, for commands whose plans look into the table.
void add_device_flag(App& app, CommonFlags& flags);
/// --devices, which takes the place of --device: one run on several devices. After add_device_flag.
Option* add_devices_flag(App& app, std::string& devices);
/// --rank-seconds, of commands that run over several processes.
void add_rank_flag(App& app, CommonFlags& flags);
/// --json and --quiet.
void add_output_flags(App& app, CommonFlags& flags);

}  // namespace yolk::cli
