// SPDX-License-Identifier: Apache-2.0
// What `yolk tune` is to tune: a job's shapes, those of a file, or those that the last run asked about.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "tune_live.hpp"
#include "yolk/core/result.hpp"
#include "yolk/oracle/family.hpp"
#include "yolk/runtime/device.hpp"

namespace yolk::cli {

/// A shape that cannot be tuned, and why.
struct SkippedShape {
    std::string shape;
    std::string reason;
};

struct WantedProblems {
    std::vector<std::unique_ptr<oracle::Problem>> problems;
    std::vector<SkippedShape> skipped;  ///< of the last run; a shape that somebody named is an error instead
};

/// Error (BadInput): no such job, a file that names no shape, a shape that is none, no run remembered.
[[nodiscard]] Result<WantedProblems> wanted_problems(const LiveFlags& flags, const Device& device);

}  // namespace yolk::cli
