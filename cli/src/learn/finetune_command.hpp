// SPDX-License-Identifier: Apache-2.0
// `yolk finetune FOLDER`: a transformer that somebody else trained, made better at a task by EGGROLL.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>

#include "app.hpp"
#include "options.hpp"

namespace yolk::cli {

[[nodiscard]] Command add_finetune_command(App& app);

/// The log of such a run, in its folder; on the host by the exact twin.
struct ReplayTuned {
    std::filesystem::path log, out;
    std::optional<std::uint32_t> generation{};
    bool on_host = false;
};
[[nodiscard]] Result<int> replay_tuned(const ReplayTuned& what, const CommonFlags& common);

}  // namespace yolk::cli
