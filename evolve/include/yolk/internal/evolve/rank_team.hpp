// SPDX-License-Identifier: Apache-2.0
// One rank's side of a run that several make: which members are its own, and what the ranks agree on in a generation.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "yolk/internal/evolve/device_pool.hpp"
#include "yolk/internal/evolve/exchange.hpp"
#include "yolk/internal/evolve/member_range.hpp"
#include "yolk/internal/evolve/options.hpp"
#include "yolk/internal/evolve/ranks.hpp"
#include "yolk/result.hpp"

namespace yolk::evolve {

class RankTeam {
   public:
    [[nodiscard]] static Result<RankTeam> create(Exchange& exchange, const EvolutionOptions& options);

    [[nodiscard]] Exchange& exchange() noexcept { return *exchange_; }
    [[nodiscard]] std::uint32_t ranks() const noexcept { return exchange_->ranks(); }
    [[nodiscard]] const MemberRange& mine() const noexcept { return shares_[exchange_->rank()]; }

    /// What a rank knows after its evaluation, and what all know together.
    struct Scored {
        std::uint64_t evaluations = 0;             ///< together: of all
        std::uint32_t verified = 0;                ///< DevicePool::verified(); together: the least
        std::uint32_t suspect_since = UINT32_MAX;  ///< of an audit, UINT32_MAX where all is well; together: the least
        double seconds = 0.0;                      ///< of the evaluation
        std::array<double, 2> mean{};              ///< PoolParts::mean_scores; together: rank 0's
    };
    /// After it, shares follow the rates of this generation. `measures` = false, for a round in which the ranks did not
    /// evaluate their shares: rates, shares and last() stay. Errors: on all ranks, that of any.
    [[nodiscard]] Result<Scored> after_scores(const Result<Scored>& mine, bool measures = true);
    /// Of each sum the sum over all ranks. Errors: on all ranks, another number of sums on one.
    [[nodiscard]] Result<void> add(std::span<std::uint64_t> sums);
    /// What a rank has after the update.
    struct State {
        std::string digest{};  ///< not looked at where something is suspect
        std::string device{};
        std::uint32_t suspect_since = UINT32_MAX;  ///< of an audit of the update; UINT32_MAX where all is well
    };
    /// Everyone's, by rank. Errors: on all ranks, that of any.
    [[nodiscard]] Result<std::vector<State>> after_update(const Result<State>& mine);
    /// The digest of the right state, the same on all ranks.
    using Judge = std::function<Result<std::string>()>;
    /// Of what after_update() gave, on all ranks. Where digests differ, the state that most ranks have counts as right,
    /// and where as many have another one, the judge's. Error, on all ranks: a rank with another state than that, its
    /// device, and the digests; without a judge, everyone's.
    [[nodiscard]] Result<void> check(std::span<const State> states, std::uint32_t generation, const Judge& judge = {});
    [[nodiscard]] std::span<const RankShare> last() const noexcept { return last_; }

   private:
    RankTeam() = default;
    [[nodiscard]] Result<void> check_by_judge(std::span<const State> states, std::uint32_t generation,
                                              const Judge& judge);
    Exchange* exchange_ = nullptr;
    std::uint32_t population_ = 0, unit_ = 1;
    std::vector<double> rates_{};  ///< by rank, members per second
    std::uint32_t measured_ = 0;   ///< generations
    std::vector<MemberRange> shares_{};
    std::vector<RankShare> last_{};
};

}  // namespace yolk::evolve
