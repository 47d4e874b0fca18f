// SPDX-License-Identifier: Apache-2.0
// Which kernel shapes the last run's plans left to the tuning table: a small file beside it, for the job `last`.
#pragma once

#include <filesystem>
#include <vector>

#include "yolk/device.hpp"
#include "yolk/internal/runtime/shape_requests.hpp"
#include "yolk/result.hpp"

namespace yolk::autotune {

[[nodiscard]] std::filesystem::path last_run_path();  ///< empty where there is no place for a table

/// Writes what the device's plans asked about, in place of what an earlier run did; nothing where they asked about
/// nothing. Failing to write is told in the log and is no failure of the run.
void remember_shapes(const Device& device);

/// Error (BadInput): no run is remembered, or the file is damaged or of another Yolk; says what to do.
[[nodiscard]] Result<std::vector<ShapeRequest>> last_run_shapes();

}  // namespace yolk::autotune
