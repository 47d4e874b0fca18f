// SPDX-License-Identifier: Apache-2.0
// A line of the run journal: the configuration that is about to run.
#pragma once

#include <optional>
#include <string>

#include "yolk/internal/context/tuning_file.hpp"
#include "yolk/internal/core/json_fwd.hpp"

namespace yolk::autotune {

[[nodiscard]] Json journal_entry(const TuningKey& key, const StoredConfiguration& configuration);
/// Nothing where the text is no entry, or half of one.
[[nodiscard]] std::optional<Quarantined> parse_journal_entry(const std::string& text);

}  // namespace yolk::autotune
