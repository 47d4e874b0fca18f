// SPDX-License-Identifier: Apache-2.0
#include "search_team.hpp"

#include <algorithm>
#include <cstring>

#include "rank_bytes.hpp"
#include "yolk/evolve/shaping.hpp"
#include "yolk/evolve/state_digest.hpp"

namespace yolk::hyper {
namespace {

/// Every rank's value.
template <class T>
Result<std::vector<T>> gather_values(evolve::Exchange& exchange, const Result<T>& mine) {
    YOLK_TRY(const std::vector<RankBytes> all,
             evolve::gather_results(exchange, mine ? Result<RankBytes>(bytes_of_values(std::span<const T>(&*mine, 1)))
                                                   : Result<RankBytes>(mine.error())));
    std::vector<T> values(all.size());
    for (std::size_t rank = 0; rank < all.size(); ++rank) {
        if (all[rank].size() != sizeof(T))
            return failed_work("Rank {} is not in step: it sent {} bytes, not {}.", rank, all[rank].size(), sizeof(T));
        std::memcpy(&values[rank], all[rank].data(), sizeof(T));
    }
    return values;
}

RankBytes packed_state(const CentreState& state) {
    const std::uint64_t count = state.parameters.size();
    RankBytes bytes = bytes_of_values(std::span<const std::uint64_t>(&count, 1));
    for (const std::vector<float>* values : {&state.parameters, &state.optimizer}) {
        const auto more = std::as_bytes(std::span(*values));
        bytes.insert(bytes.end(), more.begin(), more.end());
    }
    return bytes;
}

CentreState unpacked_state(std::span<const std::byte> bytes, std::uint32_t generation) {
    std::uint64_t count = 0;
    std::memcpy(&count, bytes.data(), sizeof(count));
    std::vector<float> values((bytes.size() - sizeof(count)) / sizeof(float));
    std::memcpy(values.data(), bytes.data() + sizeof(count), values.size() * sizeof(float));
    const auto end = values.begin() + static_cast<std::ptrdiff_t>(count);
    return {.parameters = {values.begin(), end}, .optimizer = {end, values.end()}, .generation = generation};
}

}  // namespace

Result<SearchTeam> SearchTeam::create(evolve::Exchange& exchange, const evolve::EvolutionOptions& options) {
    YOLK_TRY(evolve::RankTeam team, evolve::RankTeam::create(exchange, options));
    return SearchTeam(exchange, std::move(team), !is_integer_rule(options.fitness));
}

Perturbations SearchTeam::part_of(const Perturbations& all) const {
    Perturbations part = all;
    const bool is_first = exchange_->rank() == 0;
    if (all.members == 1) {
        part.members = is_first ? 1 : 0;
        return part;
    }
    part.first_member = static_cast<std::int32_t>(mine().first) - (is_first ? 1 : 0);
    part.members = mine().count + (is_first ? 1 : 0);
    return part;
}

Result<SearchTeam::Rewards> SearchTeam::together(const Rewards& mine) {
    YOLK_TRY(const std::vector<Rewards> all, gather_values<Rewards>(*exchange_, mine));
    Rewards together{.centre = all.front().centre};
    for (const Rewards& rank : all) {
        together.members.sum += rank.members.sum;
        together.members.best = std::max(together.members.best, rank.members.best);
        together.members.finite += rank.members.finite;
    }
    return together;
}

void SearchTeam::describe(StepReport& report) {
    report.ranks.assign(team_.last().begin(), team_.last().end());
    report.traffic = exchange_->traffic() - before_;
    before_ = exchange_->traffic();
}

Result<std::uint32_t> SearchTeam::least(const Result<std::uint32_t>& mine) {
    YOLK_TRY(const std::vector<std::uint32_t> all, gather_values<std::uint32_t>(*exchange_, mine));
    return std::ranges::min(all);
}

Result<evolve::ShapedGeneration> SearchTeam::shape(const FitnessDesc& desc, const evolve::MemberRange& members,
                                                   std::span<const float> returns) {
    return evolve::shape_scores(desc, members, returns, *exchange_);
}

Result<std::optional<CentreState>> SearchTeam::settle_state(const Result<CentreState>& mine,
                                                            const std::string& device) {
    using Settled = Result<std::optional<CentreState>>;
    if (has_float_rule_) {
        YOLK_TRY(
            const std::vector<RankBytes> all,
            evolve::gather_results(
                *exchange_, !mine ? Result<RankBytes>(mine.error())
                                  : Result<RankBytes>(exchange_->rank() == 0 ? packed_state(*mine) : RankBytes())));
        return Settled(exchange_->rank() == 0 ? std::nullopt
                                              : std::optional(unpacked_state(all.front(), mine->generation)));
    }
    const auto digest = [&]() -> Result<std::string> {
        if (!mine) return mine.error();
        return evolve::state_digest(mine->parameters, mine->optimizer, mine->generation);
    };
    YOLK_TRY_VOID(team_.compare(digest(), device, mine ? mine->generation : 0));
    return Settled(std::nullopt);
}

Result<void> SearchTeam::agree(const Result<void>& mine) { return evolve::agree(*exchange_, mine); }

}  // namespace yolk::hyper
