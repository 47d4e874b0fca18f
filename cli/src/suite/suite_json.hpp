// SPDX-License-Identifier: Apache-2.0
// The outcome of `yolk bench` as JSON, and beside an earlier one.
#pragma once

#include <filesystem>
#include <span>
#include <string>
#include <vector>

#include "suite_row.hpp"
#include "yolk/internal/core/json_fwd.hpp"
#include "yolk/internal/tasks/bench_outcome.hpp"

namespace yolk::cli {

/// The machine that rows were measured on: device, driver, cores, and Yolk's version.
[[nodiscard]] Json place_json(const Device& device);
/// {"bench": "suite", "format": 1, "place": ..., "limits": [...], "rows": [...]}.
[[nodiscard]] Json suite_json(const Device& device, std::span<const SuiteRow> rows, const SuiteLimits& limits);

/// A row of both outcomes.
struct ComparedRow {
    std::string group, name;
    double ratio = 0.0;  ///< of rates, now over then
    double error = 0.0;  ///< of the ratio: both interquartile ranges, as shares of their medians
    [[nodiscard]] bool is_slower() const { return ratio < 1.0 - error; }
};
struct SuiteComparison {
    std::vector<ComparedRow> rows;
    std::vector<std::string> only_now, only_then;  ///< rows that the other lacks, or has no figure of
    std::string version_then;
};

/// Errors: a file that cannot be read or is no outcome of `yolk bench --json`; one of another device, driver or number
/// of cores, which says nothing about this one.
[[nodiscard]] Result<tasks::BenchOutcome> read_suite(const std::filesystem::path& file, const Device& device);
[[nodiscard]] SuiteComparison compare_suites(std::span<const SuiteRow> now, const tasks::BenchOutcome& then);

}  // namespace yolk::cli
