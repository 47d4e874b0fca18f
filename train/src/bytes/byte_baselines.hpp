// SPDX-License-Identifier: Apache-2.0
// What others make of the same text, in bits per byte.
#pragma once

#include <filesystem>

#include "byte_setup.hpp"

namespace yolk::train {

/// Counts of the training part on the held-out one: of bytes with one added to each, of pairs of bytes with 1/20.
/// The programs `gzip -9` and `xz -9` take the whole file.
[[nodiscard]] ByteBaselines byte_baselines(const ByteText& text, const std::filesystem::path& file);

}  // namespace yolk::train
