// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "yolk/result.hpp"

namespace yolk::cli {

/// Texts, one a line; of standard input where there is no file. Errors: a line that is not UTF-8, which is named; Io.
[[nodiscard]] Result<std::vector<std::string>> read_text_lines(const std::filesystem::path& input);

}  // namespace yolk::cli
