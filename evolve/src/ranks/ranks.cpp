// SPDX-License-Identifier: Apache-2.0
#include "yolk/internal/evolve/ranks.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "rank_messages.hpp"

namespace yolk::evolve {

Result<std::vector<std::vector<std::byte>>> gather_results(Exchange& exchange,
                                                           const Result<std::vector<std::byte>>& mine) {
    YOLK_TRY(std::vector<std::vector<std::byte>> all, exchange.all_gather(packed_result(mine)));
    std::vector<std::vector<std::byte>> results;
    for (std::size_t rank = 0; rank < all.size(); ++rank) {
        Result<std::vector<std::byte>> result = unpacked_result(all[rank]);
        if (!result) {
            Error error = std::move(result).error();
            if (exchange.ranks() > 1) error.message = fmt::format("Rank {}: {}", rank, error.message);
            return exchange.end_together(std::move(error));
        }
        results.push_back(std::move(result).value());
    }
    return results;
}

Result<void> agree(Exchange& exchange, const Result<void>& mine) {
    const Result<std::vector<std::byte>> nothing =
        mine ? Result<std::vector<std::byte>>(std::vector<std::byte>()) : Result<std::vector<std::byte>>(mine.error());
    YOLK_TRY_VOID(gather_results(exchange, nothing));
    return {};
}

Result<std::vector<std::byte>> share_from(Exchange& exchange, std::uint32_t from,
                                          const Result<std::vector<std::byte>>& mine) {
    const bool is_mine = exchange.rank() == from;
    YOLK_TRY(std::vector<std::vector<std::byte>> all,
             gather_results(exchange, is_mine ? mine : Result<std::vector<std::byte>>(std::vector<std::byte>())));
    return std::move(all[from]);
}

Result<void> compare_settings(Exchange& exchange, const Result<NamedValues>& mine) {
    const Result<std::vector<std::byte>> packed =
        mine ? Result<std::vector<std::byte>>(packed_values(*mine)) : Result<std::vector<std::byte>>(mine.error());
    YOLK_TRY(const auto all, gather_results(exchange, packed));
    const NamedValues first = unpacked_values(all.front());
    for (std::size_t rank = 1; rank < all.size(); ++rank) {
        const NamedValues other = unpacked_values(all[rank]);
        for (std::size_t i = 0; i < std::max(first.size(), other.size()); ++i) {
            const auto value = [i](const NamedValues& values) { return i < values.size() ? values[i].second : "-"; };
            if (i < first.size() && i < other.size() && first[i] == other[i]) continue;
            return exchange.end_together(
                bad_input("The {} of rank {} is {}; that of rank 0 is {}. All ranks of a run must have the same.",
                          i < first.size() ? first[i].first : other[i].first, rank, value(other), value(first)));
        }
    }
    return {};
}

std::vector<MemberRange> share_members(std::uint32_t population, std::uint32_t unit, std::span<const double> rates) {
    const std::uint32_t free_units = population / unit - static_cast<std::uint32_t>(rates.size());
    double sum = 0.0;
    for (const double rate : rates) sum += rate;
    std::vector<MemberRange> shares;
    double before = 0.0;
    for (std::uint32_t rank = 0; rank < rates.size(); ++rank) {
        const auto dealt = [&](double part) {
            return std::min(free_units, static_cast<std::uint32_t>(part / sum * free_units + 0.5));
        };
        const std::uint32_t begin = rank == 0 ? 0 : dealt(before);
        before += rates[rank];
        const std::uint32_t end = rank + 1 == rates.size() ? free_units : dealt(before);
        shares.push_back({.first = unit * (begin + rank), .count = unit * (end - begin + 1)});
    }
    // A population that is not a multiple of the unit ends in a part of one, which the last rank takes.
    shares.back().count = population - shares.back().first;
    return shares;
}

Result<void> check_ranks(std::uint32_t ranks, std::uint32_t population, bool antithetic) {
    const std::uint32_t units = antithetic ? population / 2 : population;
    if (ranks <= units) return {};
    return bad_input(
        "There are {} ranks, but a population of {} has {} {}. Each rank needs at least one: start fewer ranks, or "
        "give a larger population.",
        ranks, population, units, antithetic ? "pairs" : "members");
}

}  // namespace yolk::evolve
