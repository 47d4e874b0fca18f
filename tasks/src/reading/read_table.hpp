// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>

#include "yolk/data.hpp"

namespace yolk::tasks {

/// CSV as in RFC 4180, separated by commas, semicolons or tabs, whichever the first line has most of. `name` is what
/// errors call the text.
[[nodiscard]] Result<DataSet> parse_csv(std::string_view text, const std::string& name, const DataOptions& options);

/// The text of a label that is a number: as short as reads back, and whole numbers without a point.
[[nodiscard]] std::string label_of_number(double number);

}  // namespace yolk::tasks
