// SPDX-License-Identifier: Apache-2.0
// Which kernel shapes the last run's plans left to the tuning table: a small file beside it, for `yolk tune --job
// last`.
#pragma once

#include <filesystem>
#include <vector>

#include "yolk/core/result.hpp"
#include "yolk/runtime/device.hpp"
#include "yolk/runtime/shape_requests.hpp"

namespace yolk::cli {

/// Writes, when it ends, what the device's plans asked about, in place of what an earlier run did; nothing where they
/// asked about nothing. Failing to write is no failure of the run. The device outlives it.
class RememberShapes {
   public:
    explicit RememberShapes(const Device& device) : device_(device) {}
    ~RememberShapes();
    RememberShapes(const RememberShapes&) = delete;
    RememberShapes& operator=(const RememberShapes&) = delete;

   private:
    const Device& device_;
};

[[nodiscard]] std::filesystem::path last_run_path();  ///< empty where there is no place for a table

/// Error (BadInput): no run is remembered, or the file is none of ours; says what to do.
[[nodiscard]] Result<std::vector<ShapeRequest>> last_run_shapes();

}  // namespace yolk::cli
