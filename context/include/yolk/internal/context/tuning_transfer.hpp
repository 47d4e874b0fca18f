// SPDX-License-Identifier: Apache-2.0
// Choices as JSON: from machine to machine, and for people.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "yolk/internal/context/tuning_file.hpp"
#include "yolk/internal/core/json_fwd.hpp"
#include "yolk/result.hpp"

namespace yolk {

// Reading gives nothing for what is none, or damaged.
[[nodiscard]] Json configuration_json(const StoredConfiguration& configuration);
[[nodiscard]] std::optional<StoredConfiguration> configuration_of_json(const Json& json);
[[nodiscard]] Json key_json(const TuningKey& key);
[[nodiscard]] std::optional<TuningKey> key_of_json(const Json& json);
[[nodiscard]] Json choice_json(const TuningChoice& choice);

/// {"yolk_tuning": 1, "choices": [...]}, a choice a line.
[[nodiscard]] std::string export_text(const std::vector<TuningChoice>& choices);

struct Imported {
    std::vector<TuningChoice> choices;
    std::size_t left_out = 0;  ///< entries that are no choices
};
/// Error (BadInput): not such a text, or of another version; `name` stands for it in messages.
[[nodiscard]] Result<Imported> import_text(std::string_view text, std::string_view name);

}  // namespace yolk
