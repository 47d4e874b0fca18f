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
#include "yolk/core/json_fwd.hpp"

namespace yolk::autotune {

/// 1: samples of a search may hold the driver's compilation. 2: each binding is warmed up before its first sample;
/// `choices.reopened`. 3 and 4: shapes of operations that are declared as values are written by the names of their
/// fields. Rows speak for themselves since: what a Yolk cannot read, it passes over and keeps. So a table of another
/// version is used where it lies, by turns or at once, as long as our columns are in it (docs/autotune.md, Versions).
inline constexpr std::int64_t kTableVersion = 4;
/// An older table is brought up to date.
inline constexpr std::int64_t kOldestUsable = 2;

enum class TableState { Good, Older, Empty, Damaged, Newer, Foreign };

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

/// From version 1: samples that are times are dropped, choices that are not pinned are reopened. With a notice. In one
/// transaction, so that of two processes one does it.
[[nodiscard]] Result<void> upgrade_table(const Database& database, const std::filesystem::path& path);

/// "[256,64]"; none where it is no list of numbers.
[[nodiscard]] std::optional<std::vector<std::uint64_t>> parse_extents(const std::string& text);
[[nodiscard]] std::optional<std::vector<std::uint64_t>> extents_of_json(const Json& json);

/// Tables, indices, version; in one transaction, so that of two processes one makes them.
[[nodiscard]] Result<void> make_schema(const Database& database);

/// Where this program keeps its table beside one of a newer Yolk that it must not use: NAME.version-4. With a notice.
[[nodiscard]] std::filesystem::path place_beside_newer(const std::filesystem::path& path);

/// Renames file and log to NAME.damaged-1, ... where it still is damaged once nobody else is doing the same, and warns.
/// Error (Io): cannot be renamed.
[[nodiscard]] Result<void> set_aside(const std::filesystem::path& path, bool thorough);

}  // namespace yolk::autotune
