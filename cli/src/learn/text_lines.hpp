// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "yolk/result.hpp"

namespace yolk::cli {

/// One text a line, from the file, or from standard input where there is none. Errors: a line that is not UTF-8.
[[nodiscard]] Result<std::vector<std::string>> read_text_lines(const std::filesystem::path& input);

}  // namespace yolk::cli
