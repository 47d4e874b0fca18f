// SPDX-License-Identifier: Apache-2.0
// The tuner: ask for a candidate, measure it wherever, tell its cost. A pure state machine: no clock, no device, no
// file; the same seed and the same costs give the same questions.
//
//   YOLK_TRY(Tuner tuner, Tuner::create(candidates, {.budget = 100, .seed = 7}));
//   while (const std::optional<std::size_t> candidate = tuner.ask())
//       YOLK_TRY_VOID(tuner.tell(*candidate, measure(*candidate)));
//   tuner.best();
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "yolk/internal/autotune/history.hpp"
#include "yolk/internal/autotune/space.hpp"
#include "yolk/internal/autotune/strategy.hpp"
#include "yolk/result.hpp"

namespace yolk::autotune {

struct TunerOptions {
    std::string strategy = "natural";
    std::size_t budget = 100;  ///< different candidates that ask() gives out; at least 1
    std::uint64_t seed = 1;
    std::shared_ptr<const DevicePrior> prior = {};  ///< read by `natural`; may be null
    StrategySettings settings = {};
};

/// The answer so far.
struct Best {
    std::size_t candidate = 0;
    double cost = 0.0;
    std::size_t samples = 0;
};

/// Belongs to one thread at a time.
class Tuner {
   public:
    /// Error (BadInput): an unknown strategy, a budget of 0, or a prior of another candidate set.
    [[nodiscard]] static Result<Tuner> create(std::shared_ptr<const CandidateSet> candidates, TunerOptions options);

    /// What to measure next; the same until its cost is told. None: budget spent, or everything is known.
    [[nodiscard]] std::optional<std::size_t> ask();
    /// The cost of any candidate, asked for or not (results of an earlier run); kInvalidCost: it does not work. A
    /// candidate told again has the median of what was told. Error (BadInput): not a candidate; a cost that is NaN or
    /// not above 0.
    [[nodiscard]] Result<void> tell(std::size_t candidate, double cost);
    /// The cheapest of all candidates told, whatever proposed it. None while nothing worked.
    [[nodiscard]] std::optional<Best> best() const;

    [[nodiscard]] const History& history() const noexcept { return *history_; }
    [[nodiscard]] const CandidateSet& candidates() const noexcept { return *candidates_; }

   private:
    Tuner(std::shared_ptr<const CandidateSet> candidates, const TunerOptions& options);
    std::size_t draw();

    std::shared_ptr<const CandidateSet> candidates_;
    std::unique_ptr<History> history_;
    std::unique_ptr<Strategy> strategy_;
    Random random_;
    std::size_t budget_;
    std::optional<std::size_t> asked_;
};

}  // namespace yolk::autotune
