// SPDX-License-Identifier: Apache-2.0
// How the ranks of one run stay in step: they fail together, have the same settings, and share the members by measured
// rates.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "yolk/internal/evolve/exchange.hpp"
#include "yolk/internal/evolve/member_range.hpp"
#include "yolk/result.hpp"

namespace yolk::evolve {

/// What one rank did in a generation, or in several.
struct RankShare {
    std::uint64_t members = 0;
    double seconds = 0.0;  ///< of its evaluation
};

/// Every rank's bytes, or on all ranks the error of the first that has one, naming it; the exchange then ends together.
/// One round.
[[nodiscard]] Result<std::vector<std::vector<std::byte>>> gather_results(Exchange& exchange,
                                                                         const Result<std::vector<std::byte>>& mine);
/// The same without bytes.
[[nodiscard]] Result<void> agree(Exchange& exchange, const Result<void>& mine);

using NamedValues = std::vector<std::pair<std::string, std::string>>;
/// Errors, on all ranks: the first setting whose value on some rank is not rank 0's, with both values; `mine`'s. One
/// round.
[[nodiscard]] Result<void> compare_settings(Exchange& exchange, const Result<NamedValues>& mine);

/// One rank's bytes to all: those of `from`, whatever the others give. Errors: `from`'s, on all ranks. One round.
[[nodiscard]] Result<std::vector<std::byte>> share_from(Exchange& exchange, std::uint32_t from,
                                                        const Result<std::vector<std::byte>>& mine);

/// The population in consecutive parts, whole pairs each where `unit` is 2, in proportion to the rates, and at least
/// one unit each. Ranks that give the same numbers get the same parts. At least as many units as ranks.
[[nodiscard]] std::vector<MemberRange> share_members(std::uint32_t population, std::uint32_t unit,
                                                     std::span<const double> rates);
/// Errors: more ranks than pairs (or members, where they do not come in pairs).
[[nodiscard]] Result<void> check_ranks(std::uint32_t ranks, std::uint32_t population, bool antithetic);

}  // namespace yolk::evolve
