// SPDX-License-Identifier: Apache-2.0
// Whole files. Writing is atomic: a temporary file beside the target, flushed, then renamed over it, so a reader sees
// the old bytes or the new ones and a failure leaves the old file untouched. Only regular files are read and replaced:
// a named pipe, a device or a socket would block or be destroyed.
#pragma once

#include <cstddef>
#include <filesystem>
#include <span>
#include <string_view>
#include <vector>

#include "yolk/result.hpp"

namespace yolk {

/// A name in the same folder that belongs to the path's: "<name><ending>". Where that would be longer than a name may
/// be (255 bytes), the beginning of the name and its hash stand for it.
[[nodiscard]] std::filesystem::path path_beside(const std::filesystem::path& path, std::string_view ending);

/// Nothing, where the path leads to a regular file or to nothing at all. Error: BadInput, which says what is there
/// instead (a folder, a named pipe, a device, a socket). For files that other libraries open.
[[nodiscard]] Result<void> check_regular_file(const std::filesystem::path& path);

/// The file's bytes; files of the system whose size is not known before (/proc) as well. Never blocks. Errors: Io;
/// BadInput for anything but a regular file, and for files above `limit_bytes`, which are not read.
[[nodiscard]] Result<std::vector<std::byte>> read_file(const std::filesystem::path& path, std::size_t limit_bytes);

/// On return the file survives a power failure, its name included. The temporary file is
/// "<path>.<process>-<n>.part" (path_beside), locked while its writer lives; the first write of a process to a path
/// removes those that killed processes left. Errors: Io; BadInput where something other than a regular file has the
/// name.
[[nodiscard]] Result<void> write_file_atomically(const std::filesystem::path& path, std::span<const std::byte> bytes);
[[nodiscard]] Result<void> write_file_atomically(const std::filesystem::path& path, std::string_view text);

/// Gives a file or a folder another name, on the same file system; on return it survives a power failure. Error: Io.
[[nodiscard]] Result<void> rename_durably(const std::filesystem::path& from, const std::filesystem::path& to);
/// A file that is missing is good. Error: Io.
[[nodiscard]] Result<void> remove_file(const std::filesystem::path& path);

/// Removes the temporary files of write_file_atomically(path) that no living process holds.
void remove_abandoned_parts(const std::filesystem::path& path) noexcept;

/// Makes the folder and its parents where they are missing; on return they survive a power failure. Error: Io.
[[nodiscard]] Result<void> create_folders(const std::filesystem::path& folder);

}  // namespace yolk
