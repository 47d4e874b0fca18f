// SPDX-License-Identifier: Apache-2.0
// `yolk report`: a page about runs.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "options.hpp"

namespace yolk::cli {

[[nodiscard]] Command add_report_command(App& app);

/// The page of `runs`, and the outcome.
[[nodiscard]] Result<int> write_report_page(const std::vector<std::string>& runs, const std::string& page, bool json);
/// A name with this ending, which so cannot be a log's, and of nothing but a regular file. `else_text` ends the error's
/// sentence about the ending.
[[nodiscard]] Result<void> check_output_name(const std::string& out, std::string_view ending,
                                             std::string_view else_text = "");

}  // namespace yolk::cli
