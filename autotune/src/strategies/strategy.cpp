// SPDX-License-Identifier: Apache-2.0
#include "yolk/internal/autotune/strategy.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>

#include "strategies.hpp"

namespace yolk::autotune {
namespace {

using Maker = std::unique_ptr<Strategy> (*)(StrategyContext);
constexpr std::array<std::string_view, 9> kNames{"natural", "eggroll", "smoothed", "random", "exhaustive",
                                                 "greedy",  "anneal",  "genetic",  "bayes"};
constexpr std::array<Maker, 9> kMakers{make_natural, make_eggroll, make_smoothed, make_random, make_exhaustive,
                                       make_greedy,  make_anneal,  make_genetic,  make_bayes};

constexpr std::array<std::string_view, 4> kSteps{"plain", "identity", "inverse-sqrt", "natural"};

}  // namespace

std::span<const std::string_view> strategy_names() noexcept { return kNames; }

Result<std::unique_ptr<Strategy>> make_strategy(std::string_view name, StrategyContext context) {
    const auto found = std::ranges::find(kNames, name);
    if (found == kNames.end()) {
        return bad_input("There is no strategy '{}'; there are {}.", name, fmt::join(kNames, ", "));
    }
    return kMakers.at(static_cast<std::size_t>(found - kNames.begin()))(std::move(context));
}

Result<Step> step_of(std::string_view name) {
    const auto found = std::ranges::find(kSteps, name);
    if (found == kSteps.end()) {
        return bad_input("There is no step '{}'; there are {}.", name, fmt::join(kSteps, ", "));
    }
    return static_cast<Step>(found - kSteps.begin());
}

}  // namespace yolk::autotune
