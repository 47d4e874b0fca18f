// SPDX-License-Identifier: Apache-2.0
// What `yolk bench` measures: rows of groups, each a rate of some work.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "suite_limits.hpp"
#include "timed_runs.hpp"
#include "yolk/context.hpp"
#include "yolk/result.hpp"

namespace yolk::cli {

/// One row and what it measured.
struct SuiteRow {
    std::string group;       ///< "kernels"
    std::string name;        ///< "softmax: members=4096 rows=16 columns=10"
    std::string unit;        ///< of the rate: "G operations/s"
    double items = 0.0;      ///< of one run: the rate is this many units for each second that it took
    TimedRuns runs{};        ///< at least one run, unless there is an error
    double limit = 0.0;      ///< the highest rate that the device reached in this run at nothing else; 0: not known
    std::string limit_of{};  ///< "multiply-adds", "memory"
    std::string error{};     ///< why there is no figure

    [[nodiscard]] double rate() const { return items / Spread(runs.best_known()).median; }
};

/// A row that can be measured. Its group and name are known before.
struct SuiteJob {
    std::string group, name;
    bool quick = true;  ///< whether --quick has it
    std::function<Result<SuiteRow>(const Context& context, const RunBudget& budget)> measure;
};

[[nodiscard]] std::vector<SuiteJob> kernel_jobs(SuiteLimits& limits);
[[nodiscard]] std::vector<SuiteJob> training_jobs();
[[nodiscard]] std::vector<SuiteJob> system_jobs();
[[nodiscard]] std::vector<SuiteJob> dispatch_jobs();
[[nodiscard]] std::vector<SuiteJob> text_jobs();

}  // namespace yolk::cli
