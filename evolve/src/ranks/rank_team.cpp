// SPDX-License-Identifier: Apache-2.0
#include "yolk/internal/evolve/rank_team.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cstring>
#include <tuple>

#include "rank_messages.hpp"
#include "yolk/internal/core/bytes.hpp"

namespace yolk::evolve {
namespace {

/// Weight of the newest rate beside those before it.
constexpr double kNewRate = 0.5;
/// Rates that no later one is mixed with: in the first generation drivers compile.
constexpr std::uint32_t kUnsteady = 2;

constexpr auto kGoOn =
    "The states before it were the same. Go on from the last one that was saved, if any was, without that rank's "
    "device.";

bool parse_number(std::string_view text, std::uint32_t& to) {
    const auto [end, code] = std::from_chars(text.data(), text.data() + text.size(), to);
    return code == std::errc() && end == text.data() + text.size();
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

Result<RankTeam::Scored> RankTeam::after_scores(const Result<Scored>& mine, bool measures) {
    const Result<ByteVector> packed =
        mine ? Result<ByteVector>(bytes_of_values(std::span(&*mine, 1))) : Result<ByteVector>(mine.error());
    YOLK_TRY(const auto all, gather_results(*exchange_, packed));
    Scored together{.verified = UINT32_MAX};
    if (measures) last_.clear();
    for (std::size_t rank = 0; rank < all.size(); ++rank) {
        Scored part;
        if (all[rank].size() != sizeof(part))
            return failed_work("Rank {} is not in step: it sent {} bytes of its evaluation, not {}.", rank,
                               all[rank].size(), sizeof(part));
        std::memcpy(&part, all[rank].data(), sizeof(part));
        together.evaluations += part.evaluations;
        together.verified = std::min(together.verified, part.verified);
        together.suspect_since = std::min(together.suspect_since, part.suspect_since);
        if (rank == 0) together.mean = part.mean;
        if (!measures) continue;
        last_.push_back({.members = shares_[rank].count, .seconds = part.seconds});
        const double rate = shares_[rank].count / std::max(part.seconds, 1e-9);
        rates_[rank] = measured_ < kUnsteady ? rate : kNewRate * rate + (1.0 - kNewRate) * rates_[rank];
    }
    if (!measures) return together;
    ++measured_;
    shares_ = share_members(population_, unit_, rates_);
    return together;
}

Result<void> RankTeam::add(std::span<std::uint64_t> sums) {
    YOLK_TRY(const auto all, gather_results(*exchange_, Result<ByteVector>(bytes_of_values(sums))));
    for (std::size_t rank = 0; rank < all.size(); ++rank) {
        if (all[rank].size() != sums.size_bytes()) {
            return failed_work("Rank {} is not in step: it sent {} bytes of its sums, not {}.", rank, all[rank].size(),
                               sums.size_bytes());
        }
        if (rank == exchange_->rank()) continue;
        for (std::size_t i = 0; i < sums.size(); ++i) {
            std::uint64_t other = 0;
            std::memcpy(&other, all[rank].data() + i * sizeof(other), sizeof(other));
            sums[i] += other;
        }
    }
    return {};
}

Result<std::vector<RankTeam::State>> RankTeam::after_update(const Result<State>& mine) {
    const auto packed = [&]() -> Result<std::vector<std::byte>> {
        if (!mine) return mine.error();
        return packed_values({{mine->digest, mine->device}, {"suspect since", std::to_string(mine->suspect_since)}});
    };
    YOLK_TRY(const auto all, gather_results(*exchange_, packed()));
    std::vector<State> states;
    for (std::size_t rank = 0; rank < all.size(); ++rank) {
        const NamedValues values = unpacked_values(all[rank]);
        State state;
        if (values.size() != 2 || !parse_number(values[1].second, state.suspect_since))
            return failed_work("Rank {} is not in step: what it sent is not a state.", rank);
        std::tie(state.digest, state.device) = values.front();
        states.push_back(std::move(state));
    }
    return states;
}

Result<void> RankTeam::check(std::span<const State> states, std::uint32_t generation, const Judge& judge) {
    const auto votes = [&](const std::string& digest) { return std::ranges::count(states, digest, &State::digest); };
    const auto most = std::ranges::max_element(states, {}, [&](const State& state) { return votes(state.digest); });
    if (votes(most->digest) == std::ssize(states)) return {};
    const bool is_open = std::ranges::any_of(states, [&](const State& other) {
        return other.digest != most->digest && votes(other.digest) == votes(most->digest);
    });
    if (is_open) return check_by_judge(states, generation, judge);
    const auto other = std::ranges::find_if(states, [&](const State& each) { return each.digest != most->digest; });
    return exchange_->end_together(failed_work(
        "Rank {} with {} has another state after generation {}: its digest is {}, that of {} of {} ranks {}. {}",
        other - states.begin(), other->device, generation, other->digest, votes(most->digest), states.size(),
        most->digest, kGoOn));
}

/// As many ranks have one state as another.
Result<void> RankTeam::check_by_judge(std::span<const State> states, std::uint32_t generation, const Judge& judge) {
    std::string right;
    if (judge) {
        YOLK_TRY(right, judge());
        const auto is_right = [&](const State& each) { return each.digest == right; };
        const auto other = std::ranges::find_if_not(states, is_right);
        if (std::ranges::any_of(states, is_right)) {
            return exchange_->end_together(failed_work(
                "Rank {} with {} has another state after generation {}: its digest is {}, the exact twin's is {}. {}",
                other - states.begin(), other->device, generation, other->digest, right, kGoOn));
        }
    }
    std::string each_rank;
    for (std::size_t rank = 0; rank < states.size(); ++rank) {
        each_rank += fmt::format("{}rank {} with {} has the digest {}", rank == 0 ? "" : ", ", rank,
                                 states[rank].device, states[rank].digest);
    }
    return exchange_->end_together(failed_work(
        "The ranks have different states after generation {}, and {}: {}. The states before it were the same. Go on "
        "from the last one that was saved, if any was, with one of the devices at a time.",
        generation,
        right.empty() ? std::string("it is open which is right")
                      : fmt::format("none has the exact twin's, whose digest is {}", right),
        each_rank));
}

}  // namespace yolk::evolve
