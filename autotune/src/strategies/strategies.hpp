// SPDX-License-Identifier: Apache-2.0
// One per file; docs/tuner.md describes them.
#pragma once

#include <memory>

#include "yolk/internal/autotune/strategy.hpp"

namespace yolk::autotune {

[[nodiscard]] std::unique_ptr<Strategy> make_natural(StrategyContext context);
[[nodiscard]] std::unique_ptr<Strategy> make_bayes(StrategyContext context);
[[nodiscard]] std::unique_ptr<Strategy> make_eggroll(StrategyContext context);
[[nodiscard]] std::unique_ptr<Strategy> make_smoothed(StrategyContext context);
[[nodiscard]] std::unique_ptr<Strategy> make_greedy(StrategyContext context);
[[nodiscard]] std::unique_ptr<Strategy> make_anneal(StrategyContext context);
[[nodiscard]] std::unique_ptr<Strategy> make_genetic(StrategyContext context);
[[nodiscard]] std::unique_ptr<Strategy> make_random(StrategyContext context);
[[nodiscard]] std::unique_ptr<Strategy> make_exhaustive(StrategyContext context);

/// A candidate like `candidate` but for up to `changes` parameters, drawn anew; a neighbour, or any candidate, where 50
/// draws meet none. Never `candidate` itself where there is another.
[[nodiscard]] std::size_t perturbed(const CandidateSet& candidates, Random& random, std::size_t candidate,
                                    std::size_t changes);

}  // namespace yolk::autotune
