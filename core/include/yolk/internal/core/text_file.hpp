// SPDX-License-Identifier: Apache-2.0
// Files as text, whole or in part; regular ones only, as in yolk/internal/core/file.hpp. No encoding is checked.
#pragma once

#include <cstddef>
#include <filesystem>
#include <string>

#include "yolk/result.hpp"

namespace yolk {

/// read_file() as text, /proc and /sys included. Errors: read_file's.
[[nodiscard]] Result<std::string> read_text(const std::filesystem::path& path, std::size_t limit_bytes);
/// At most this many bytes from the beginning.
[[nodiscard]] Result<std::string> read_beginning(const std::filesystem::path& path, std::size_t most_bytes);
/// The last bytes, at most so many.
[[nodiscard]] Result<std::string> read_end(const std::filesystem::path& path, std::size_t most_bytes);

}  // namespace yolk
