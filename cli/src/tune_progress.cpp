// SPDX-License-Identifier: Apache-2.0
#include "tune_progress.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cstdio>

#include "output.hpp"
#include "yolk/autotune/strategy.hpp"

namespace yolk::cli {
namespace {

constexpr std::uint32_t kLargestBudget = 100'000;

}  // namespace

Result<void> check_search_flags(const LiveFlags& flags) {
    if (flags.budget > kLargestBudget)
        return bad_input(fmt::format("--budget is {}; 1 to {} are allowed.", flags.budget, kLargestBudget));
    if (!(flags.seconds >= 0.0F && flags.seconds < 1e7F))
        return bad_input(fmt::format("--seconds is {}; it is above 0.", flags.seconds));
    const auto strategies = autotune::strategy_names();
    if (std::ranges::find(strategies, flags.strategy) == strategies.end())
        return bad_input(
            fmt::format("There is no strategy '{}'; there are {}.", flags.strategy, fmt::join(strategies, ", ")));
    return {};
}

SearchProgress::SearchProgress(const CommonFlags& common)
    : live_(output_is_terminal() && !common.json && !common.quiet), json_(common.json && !common.quiet) {}

void SearchProgress::show(const std::string& shape, const autotune::LiveProgress& progress) const {
    if (json_) {
        print_json({{"shape", shape},
                    {"evaluations", progress.evaluations},
                    {"rejected", progress.rejected},
                    {"best_milliseconds", progress.best_milliseconds},
                    {"heuristic_milliseconds", progress.heuristic_milliseconds}});
    }
    if (!live_) return;
    const double speed_up = progress.heuristic_milliseconds / progress.best_milliseconds;
    std::string line = fmt::format("{} of {}, {} rejected, best {:.4g} ms against {:.4g} ms ({:.2f}x)  {}",
                                   progress.evaluations, progress.budget, progress.rejected, progress.best_milliseconds,
                                   progress.heuristic_milliseconds, speed_up, shape);
    line.resize(std::min<std::size_t>(line.size(), terminal_columns() - 1));
    fmt::print("\r\033[K{}", line);
    std::fflush(stdout);
}

void SearchProgress::finish() const {
    if (live_) fmt::print("\r\033[K");
    std::fflush(stdout);
}

}  // namespace yolk::cli
