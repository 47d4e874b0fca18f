// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <string>
#include <string_view>

#include "yolk/data.hpp"

namespace yolk::tasks {

struct Image {
    std::uint32_t height = 0, width = 0, channels = 0;  ///< 1: grey, 3: red, green, blue
    std::vector<std::uint8_t> pixels{};                 ///< [height, width, channels]
};
/// PNG (palettes are resolved, transparency is dropped, 16 bits become 8), PGM or PPM in their binary forms, by how the
/// bytes begin. Errors: another kind, bytes that are cut off or damaged, a size that the bytes cannot have.
[[nodiscard]] Result<Image> parse_image(std::string_view bytes, const std::string& name);
/// A sub-folder for each label, in the order of names. Errors: none, one without an image, images of different sizes.
[[nodiscard]] Result<DataSet> read_image_folder(const std::filesystem::path& folder, bool has_labels);

}  // namespace yolk::tasks
