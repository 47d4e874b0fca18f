// SPDX-License-Identifier: Apache-2.0
// Whole files. Writing is atomic: a temporary file beside the target, flushed, then renamed over it, so a reader sees
// the old bytes or the new ones and a failure leaves the old file untouched.
#pragma once

#include <cstddef>
#include <filesystem>
#include <span>
#include <string_view>
#include <vector>

#include "yolk/core/result.hpp"

namespace yolk {

/// The file's bytes. Refuses files above `limit_bytes` before reading them.
[[nodiscard]] Result<std::vector<std::byte>> read_file(const std::filesystem::path& path, std::size_t limit_bytes);

[[nodiscard]] Result<void> write_file_atomically(const std::filesystem::path& path, std::span<const std::byte> bytes);
[[nodiscard]] Result<void> write_file_atomically(const std::filesystem::path& path, std::string_view text);

}  // namespace yolk
