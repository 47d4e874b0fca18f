// SPDX-License-Identifier: Apache-2.0
// The table's schema, and what to do with a file that does not have it.
#pragma once

#include <filesystem>
#include <string>

#include "sqlite.hpp"

namespace yolk::autotune {

inline constexpr std::int64_t kTableVersion = 1;

enum class TableState { Good, Empty, Damaged, Newer, Foreign };

/// Reads all pages where `thorough`. An error: the file cannot be read just now.
[[nodiscard]] Result<TableState> examine_table(const Database& database, bool thorough);

/// Tables, indices, version; in one transaction, so that of two processes one makes them.
[[nodiscard]] Result<void> make_schema(const Database& database);

/// Renames file and log to NAME.damaged-1, NAME.newer-1, ... where it still is in such a state once nobody else is
/// doing the same, and warns. Error (Io): cannot be renamed.
[[nodiscard]] Result<void> set_aside(const std::filesystem::path& path, bool thorough);

}  // namespace yolk::autotune
