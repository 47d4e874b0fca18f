// SPDX-License-Identifier: Apache-2.0
// A run's other ranks, as its loop sees them: nothing but what it does anyway where there are none.
#pragma once

#include <cstdint>
#include <optional>

#include "checkpoint.hpp"
#include "task_setup.hpp"
#include "yolk/internal/evolve/exchange.hpp"
#include "yolk/internal/evolve/ranks.hpp"

namespace yolk::train {

/// Whether a run has ended, and by what; a rank whose callback ended it counts before one that came to its own end.
enum class RunEnd : std::uint8_t { NotYet, Own, Callback };

class RunRanks {
   public:
    explicit RunRanks(evolve::Exchange* exchange) : exchange_(exchange) {}

    [[nodiscard]] evolve::Exchange* exchange() const noexcept { return exchange_; }  ///< null: there are none
    [[nodiscard]] std::uint32_t ranks() const noexcept { return exchange_ == nullptr ? 1 : exchange_->ranks(); }
    [[nodiscard]] bool is_alone() const noexcept { return ranks() == 1; }
    /// Rank 0 has the files.
    [[nodiscard]] bool writes() const noexcept { return exchange_ == nullptr || exchange_->rank() == 0; }
    /// What this rank is to do of a run: all but rank 0 write nothing.
    [[nodiscard]] TrainOptions options_here(const TrainOptions& options) const;

    /// Before the first generation. Errors, on all ranks: `setup`'s on any, more ranks than pairs, a binary, version or
    /// setting that differs.
    [[nodiscard]] Result<void> compare(const TrainOptions& options, const Result<TaskSetup>& setup) const;
    /// Rank 0's, on all.
    [[nodiscard]] Result<std::optional<Checkpoint>> share(Result<std::optional<Checkpoint>> mine) const;
    [[nodiscard]] Result<void> agree(Result<void> mine) const;
    /// Where it has ended on any rank it has on all.
    [[nodiscard]] Result<RunEnd> agree_on_end(Result<RunEnd> mine) const;
    [[nodiscard]] evolve::Traffic traffic() const { return is_alone() ? evolve::Traffic() : exchange_->traffic(); }

   private:
    evolve::Exchange* exchange_;
};

}  // namespace yolk::train
