// SPDX-License-Identifier: Apache-2.0
// Files of what is kept to save time, and can be made again.
#pragma once

#include <cstddef>
#include <filesystem>
#include <span>

#include "yolk/result.hpp"

namespace yolk {

/// As write_file_atomically (file.hpp), without its guarantee for power failures: readers see the old file or the new
/// one, but such a failure may leave a torn one. The temporary file of a killed process stays. Errors: Io.
[[nodiscard]] Result<void> replace_file(const std::filesystem::path& path, std::span<const std::byte> bytes);

}  // namespace yolk
