// SPDX-License-Identifier: Apache-2.0
// The tuning table by hand: what one shape has, and what is carried in and out, pinned and forgotten.
#pragma once

#include <cstddef>
#include <filesystem>
#include <optional>
#include <string_view>
#include <vector>

#include "yolk/internal/autotune/explain.hpp"
#include "yolk/internal/context/tuning_file.hpp"
#include "yolk/result.hpp"

namespace yolk::autotune {

/// Everything that the table knows of one key, but for its choice.
struct KeyContent {
    TuningKey key;
    std::vector<TuningSample> samples;
    std::vector<Quarantined> quarantined;
};
[[nodiscard]] Result<KeyContent> content_of(const TuningFile& file, const TuningKey& key);
/// Of all kernels of the user's own whose shape's text contains `part`: their files need not be there. Error
/// (BadInput): no such kernel.
[[nodiscard]] Result<std::vector<KeyContent>> user_kernels_with(const TuningFile& file, std::string_view part);

/// Writes all choices; how many. Errors: those of both files.
[[nodiscard]] Result<std::size_t> export_table(const TuningFile& file, const std::filesystem::path& path);

struct ImportOutcome {
    std::size_t choices = 0;   ///< that the file holds
    std::size_t taken = 0;     ///< of them; a better or pinned one in the table stays
    std::size_t left_out = 0;  ///< entries that are not choices
};
/// Error (BadInput): not an export, or of another version.
[[nodiscard]] Result<ImportOutcome> import_table(const TuningFile& file, const std::filesystem::path& path);

/// Pins `configuration`, or what the table has for exactly this shape, so that no tuning replaces it. Error (BadInput):
/// neither is there; a configuration that is not of the space.
[[nodiscard]] Result<TuningChoice> pin_choice(const TuningFile& file, const ShapeQuestion& question,
                                              const std::optional<StoredConfiguration>& configuration);

/// "all", a family, or a family and, after a colon, a part of the shape's text; how many shapes.
[[nodiscard]] Result<std::size_t> forget_shapes(const TuningFile& file, std::string_view what);

}  // namespace yolk::autotune
