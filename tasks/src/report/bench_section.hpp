// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>

#include "yolk/internal/tasks/bench_outcome.hpp"

namespace yolk::tasks {

/// The machine, its limits, and a table for each group of rows; a bar is the share of a limit.
[[nodiscard]] std::string bench_section(const std::string& title, const BenchOutcome& outcome);
[[nodiscard]] std::string_view bench_style();

}  // namespace yolk::tasks
