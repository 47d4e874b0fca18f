// SPDX-License-Identifier: Apache-2.0
// The table's schema, and what to do with a file that does not have it.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "sqlite.hpp"
#include "yolk/internal/core/json_fwd.hpp"

namespace yolk {

/// A table of another version is refused (docs/adr/0044). The version rises where a column means something else; rows
/// that say something new, and columns that are added, need none: what a Yolk cannot read, it passes over and keeps.
inline constexpr std::int64_t kTableVersion = 4;

enum class TableState { Good, Empty, Damaged, OtherVersion, Foreign };

/// Whose file this is, by its content: only a SQLite database with our application id, or with our tables where that is
/// damaged, may be renamed as a damaged table of ours. Reads all pages where `thorough`. An error: the file cannot be
/// read just now.
[[nodiscard]] Result<TableState> examine_table(const Database& database, const std::filesystem::path& path,
                                               bool thorough);

/// Error (BadInput): something lies there that no table can be, a folder, a device, a file with other content. What is
/// not there and a file of 0 bytes are no errors.
[[nodiscard]] Result<void> check_place(const std::filesystem::path& path);

/// That the file at `path` is another program's, and what to do.
[[nodiscard]] Error foreign_file(const std::filesystem::path& path, std::string_view what);

/// That the table at `path` is of another version, and what to do.
[[nodiscard]] Error other_version(const Database& database, const std::filesystem::path& path);

/// "[256,64]"; none where it is no list of numbers.
[[nodiscard]] std::optional<std::vector<std::uint64_t>> parse_extents(const std::string& text);
[[nodiscard]] std::optional<std::vector<std::uint64_t>> extents_of_json(const Json& json);

/// Tables, indices, version; in one transaction, so that of two processes one makes them.
[[nodiscard]] Result<void> make_schema(const Database& database);

/// Renames file and log to NAME.damaged-1, ... where it still is damaged once nobody else is doing the same, and warns.
/// Error (Io): cannot be renamed.
[[nodiscard]] Result<void> set_aside(const std::filesystem::path& path, bool thorough);

}  // namespace yolk
