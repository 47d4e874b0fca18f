// SPDX-License-Identifier: Apache-2.0
#include "rank_team.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>

#include "rank_messages.hpp"

namespace yolk::evolve {
namespace {

/// Weight of the newest rate beside those before it.
constexpr double kNewRate = 0.5;
/// Rates that no later one is mixed with: in the first generation drivers compile.
constexpr std::uint32_t kUnsteady = 2;

template <class T>
std::vector<std::byte> bytes_of(const T& value) {
    const auto bytes = std::as_bytes(std::span(&value, 1));
    return {bytes.begin(), bytes.end()};
}

}  // namespace

Result<RankTeam> RankTeam::create(Exchange& exchange, const EvolutionOptions& options) {
    YOLK_TRY_VOID(check_ranks(exchange.ranks(), options.population, options.antithetic));
    RankTeam team;
    team.exchange_ = &exchange;
    team.population_ = options.population;
    team.unit_ = options.antithetic ? 2 : 1;
    team.rates_.assign(exchange.ranks(), 0.0);
    team.shares_ = share_members(team.population_, team.unit_, std::vector<double>(exchange.ranks(), 1.0));
    return team;
}

Result<RankTeam::Scored> RankTeam::after_scores(const Result<Scored>& mine) {
    const Result<std::vector<std::byte>> packed =
        mine ? Result<std::vector<std::byte>>(bytes_of(*mine)) : Result<std::vector<std::byte>>(mine.error());
    YOLK_TRY(const auto all, gather_results(*exchange_, packed));
    Scored together{.verified = UINT32_MAX};
    last_.clear();
    for (std::size_t rank = 0; rank < all.size(); ++rank) {
        Scored part;
        if (all[rank].size() != sizeof(part))
            return failed_work("Rank {} is not in step: it sent {} bytes of its evaluation, not {}.", rank,
                               all[rank].size(), sizeof(part));
        std::memcpy(&part, all[rank].data(), sizeof(part));
        together.evaluations += part.evaluations;
        together.verified = std::min(together.verified, part.verified);
        together.suspect_since = std::min(together.suspect_since, part.suspect_since);
        last_.push_back({.members = shares_[rank].count, .seconds = part.seconds});
        const double rate = shares_[rank].count / std::max(part.seconds, 1e-9);
        rates_[rank] = measured_ < kUnsteady ? rate : kNewRate * rate + (1.0 - kNewRate) * rates_[rank];
    }
    ++measured_;
    shares_ = share_members(population_, unit_, rates_);
    return together;
}

Result<void> RankTeam::compare(const Result<std::string>& digest, const std::string& device, std::uint32_t generation) {
    const Result<std::vector<std::byte>> packed =
        digest ? Result<std::vector<std::byte>>(packed_values({{*digest, device}}))
               : Result<std::vector<std::byte>>(digest.error());
    YOLK_TRY(const auto all, gather_results(*exchange_, packed));
    std::vector<std::pair<std::string, std::string>> states;
    for (const auto& bytes : all) states.push_back(unpacked_values(bytes).front());
    const auto votes = [&](const std::string& state) {
        return std::ranges::count(states, state, &std::pair<std::string, std::string>::first);
    };
    std::string most = states.front().first;
    for (const auto& [state, name] : states) {
        if (votes(state) > votes(most)) most = state;
    }
    for (std::size_t rank = 0; rank < states.size(); ++rank) {
        if (states[rank].first == most) continue;
        return exchange_->end_together(failed_work(
            "Rank {} with {} has another state after generation {}: its digest is {}, that of {} of {} ranks {}. The "
            "last checkpoint is from before it; resume without that rank's device.",
            rank, states[rank].second, generation, states[rank].first, votes(most), states.size(), most));
    }
    return {};
}

}  // namespace yolk::evolve
