// SPDX-License-Identifier: Apache-2.0
// The logs that training and optimizing write, read back as curves.
#pragma once

#include <filesystem>

#include "yolk/internal/evolve/learning_plot.hpp"
#include "yolk/result.hpp"

namespace yolk::cli {

using evolve::LearningLog;
using evolve::LearningLogKind;
using evolve::LearningPoint;

/// Reads a metrics.jsonl of `yolk train`, or a log that `yolk system NAME optimize --log` wrote. A last line without
/// its newline is one that a run is writing, or that it was killed in: it is left out with a notice. Errors: a file
/// that cannot be read, is empty, is neither of the two, has no generation yet, or is damaged (which line, and what is
/// wrong with it).
[[nodiscard]] Result<LearningLog> read_learning_log(const std::filesystem::path& path);

}  // namespace yolk::cli
