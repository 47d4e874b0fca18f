// SPDX-License-Identifier: Apache-2.0
// What is to be tuned: a job's shapes, those of a file, or those that the last run asked about.
#pragma once

#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "yolk/device.hpp"
#include "yolk/result.hpp"

namespace yolk::oracle {
class Problem;
}

namespace yolk::autotune {

/// At most one of them; none: oracle::named_set().
struct TuningJob {
    std::string name{};                ///< cartpole, tuner, or last
    std::filesystem::path file{};      ///< of shapes, one a line, as oracle::make_named_problem reads them
    std::vector<std::string> lines{};  ///< such lines
};

/// A shape that cannot be tuned, and why.
struct SkippedShape {
    std::string shape;
    std::string reason;
};

struct WantedProblems {
    std::vector<std::unique_ptr<oracle::Problem>> problems;
    std::vector<SkippedShape> skipped;  ///< of the last run; a shape that somebody named is an error instead
};

/// Error (BadInput): no such job, a file without a shape, a line that is not a shape, no run remembered.
[[nodiscard]] Result<WantedProblems> wanted_problems(const TuningJob& job);

}  // namespace yolk::autotune
