// SPDX-License-Identifier: Apache-2.0
// A whole tuned system in one file: numbers, vectors, matrices, texts, what they scored, and from which seed. A
// safetensors container, so other tools read the matrices.
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>
#include <string>

#include "yolk/system.hpp"

namespace yolk::hyper {

/// What a file holds beside the parameters.
struct StateInfo {
    std::string system{};                    ///< its name; filled in by save_state
    std::map<std::string, double> scores{};  ///< "reward", "held_out", ...; finite
    std::optional<std::uint64_t> seed{};     ///< of the optimization
};

/// Written beside and renamed: a reader sees the old file or the new one. Nothing of a model's client is in it. Errors:
/// values or scores that are not finite, texts of about a MiB together (what a header holds), a file that cannot be
/// written.
[[nodiscard]] Result<void> save_state(const System& system, const std::filesystem::path& path, StateInfo info = {});

/// Puts the file's values into the system's parameters. The system must know its hyperfunctions: trace or evaluate it
/// first, or add them. Errors: no file, damage (a file may be truncated, foreign or hostile), and everything that no
/// longer fits in one message: hyperfunctions that are missing or new, shapes, fields, kinds, choices, values outside
/// the bounds, texts that are too long. Then nothing is changed.
[[nodiscard]] Result<StateInfo> load_state(System& system, const std::filesystem::path& path);

}  // namespace yolk::hyper
