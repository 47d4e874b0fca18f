// SPDX-License-Identifier: Apache-2.0
// One rank's side of a run that several make: which members are its own, and what the ranks agree on in a generation.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "yolk/core/result.hpp"
#include "yolk/evolve/device_pool.hpp"
#include "yolk/evolve/exchange.hpp"
#include "yolk/evolve/member_range.hpp"
#include "yolk/evolve/options.hpp"
#include "yolk/evolve/ranks.hpp"

namespace yolk::evolve {

class RankTeam {
   public:
    [[nodiscard]] static Result<RankTeam> create(Exchange& exchange, const EvolutionOptions& options);

    [[nodiscard]] Exchange& exchange() noexcept { return *exchange_; }
    [[nodiscard]] const MemberRange& mine() const noexcept { return shares_[exchange_->rank()]; }

    /// What a rank knows after its evaluation, and what all know together.
    struct Scored {
        std::uint64_t evaluations = 0;             ///< together: of all
        std::uint32_t verified = 0;                ///< DevicePool::verified(); together: the least
        std::uint32_t suspect_since = UINT32_MAX;  ///< of an audit, UINT32_MAX where all is well; together: the least
        double seconds = 0.0;                      ///< of the evaluation
    };
    /// After it, shares follow the rates of this generation. Errors: on all ranks, that of any.
    [[nodiscard]] Result<Scored> after_scores(const Result<Scored>& mine);
    /// Errors, on all ranks: that of any, a rank whose digest is not that of most ranks (names it and its device).
    [[nodiscard]] Result<void> compare(const Result<std::string>& digest, const std::string& device,
                                       std::uint32_t generation);
    [[nodiscard]] std::span<const RankShare> last() const noexcept { return last_; }

   private:
    RankTeam() = default;
    Exchange* exchange_ = nullptr;
    std::uint32_t population_ = 0, unit_ = 1;
    std::vector<double> rates_{};  ///< by rank, members per second
    std::uint32_t measured_ = 0;   ///< generations
    std::vector<MemberRange> shares_{};
    std::vector<RankShare> last_{};
};

}  // namespace yolk::evolve
