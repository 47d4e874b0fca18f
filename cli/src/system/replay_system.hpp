// SPDX-License-Identifier: Apache-2.0
// The parameters of a system after any generation of a search: `yolk replay` of a shipped one, `replay` of a program's
// own.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>

#include "open_system.hpp"
#include "options.hpp"
#include "system_commands.hpp"

namespace yolk::cli {

struct ReplayFlags : SystemFlags {
    std::filesystem::path log;
    std::uint32_t generation = 0;
    const Option* generation_given = nullptr;
    std::filesystem::path out;
    [[nodiscard]] std::optional<std::uint32_t> wanted() const {
        return generation_given->count() > 0 ? std::optional(generation) : std::nullopt;
    }
};
struct ReplayHelp {
    std::string log, out, out_type;
};
void add_replay_flags(App& app, ReplayFlags& flags, const ReplayHelp& help);

/// What the generations are applied on, as it is shown.
struct ReplayPlace {
    std::string device = "the host's exact twin";
    std::string driver{};
};
[[nodiscard]] ReplayPlace place_of(const DeviceInfo& device);

/// What is odd about a log that was replayed, on standard error: bytes of an unfinished generation, and the generation
/// after which the states differ from the log's.
void note_what_is_odd(const std::filesystem::path& log, std::uint64_t torn_bytes,
                      const std::optional<std::uint32_t>& differs_from);

[[nodiscard]] Result<int> replay_system(const MakeSystemTask& make, const ReplayFlags& flags);
[[nodiscard]] Command add_replay_system_command(App& app, const MakeSystemTask& make);

}  // namespace yolk::cli
