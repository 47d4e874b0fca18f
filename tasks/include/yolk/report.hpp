// SPDX-License-Identifier: Apache-2.0
// One page about runs: learning curves over seeds, throughput, devices' shares, what was tuned, prompts, and how others
// fared. A file of HTML with its pictures inside: it loads nothing, needs no script, and is light or dark as the
// reader's system is.
#pragma once

#include <cstddef>
#include <filesystem>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "yolk/result.hpp"

namespace yolk::tasks {

inline constexpr std::size_t kMostReportedRuns = 256;

struct ReportOptions {
    std::size_t threads = 0;          ///< for the replays of tuning strategies; 0: all. The page does not depend on it
    std::function<bool()> goes_on{};  ///< asked while strategies are replayed, on any thread; empty: always
};

/// What the page shows.
struct ReportContents {
    std::size_t runs = 0;
    std::vector<std::string> tasks{};  ///< a section each, with the runs of one task, system or data set
    std::size_t searches = 0;          ///< for prompts
    std::size_t prompts = 0;
    std::size_t shapes = 0;  ///< tuned ones
    std::size_t rows = 0;    ///< that compare with others
    std::size_t bench_rows = 0;
};

/// Each of `runs` is one of these, told apart by its content:
///   - the folder of a run of `yolk train`, or its metrics.jsonl; a log of `yolk system NAME optimize --log`;
///   - a tuning table, or a recording of a tuning (autotune's formats);
///   - rows that a program of bench/peers printed with --json;
///   - what `yolk bench --json` printed.
/// A run that is still going, or was killed in a line, is shown up to there. The page is replaced whole, and is the
/// same bytes for the same files. Errors: BadInput for nothing to show, too many, the same one twice, and what is none
/// of these or is damaged (file and line); Io; Cancelled where `goes_on` was false. Nothing is written then.
[[nodiscard]] Result<ReportContents> write_report(std::span<const std::filesystem::path> runs,
                                                  const std::filesystem::path& page, const ReportOptions& options = {});

}  // namespace yolk::tasks
