// SPDX-License-Identifier: Apache-2.0
// The exact statistics of the scores of some members, and how those of several ranks become the population's. They are
// integers and maxima, so that neither order nor split matters. Ranks run one binary, so they exchange these as they
// lie in memory.
#pragma once

#include <array>
#include <bit>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <span>
#include <type_traits>
#include <vector>

#include "yolk/fitness.hpp"
#include "yolk/internal/abi/fitness_summary.h"
#include "yolk/internal/evolve/exchange.hpp"
#include "yolk/internal/evolve/member_range.hpp"
#include "yolk/internal/reference/fitness_summary.hpp"

namespace yolk::evolve {

/// Of the scores as they came. The order of the floats is that of their keys.
struct ScoreExtremes {
    MemberRange members{};
    std::uint32_t largest = 0;  ///< magnitude, as bits
    std::int32_t best_key = INT32_MIN;
    std::int32_t worst_key = INT32_MAX;
    std::uint32_t not_finite = 0;
    std::uint32_t first_not_finite = UINT32_MAX;
};
[[nodiscard]] ScoreExtremes extremes_of(const MemberRange& members, std::span<const float> scores);
/// The members of this rank behind those of the ranks before it, `all` from member 0 on. Error: they do not follow.
[[nodiscard]] Result<void> append_members(MemberRange& all, const MemberRange& members, std::size_t rank,
                                          std::uint32_t population);
/// Errors: the ranks' members are not the population, each once and in their order.
[[nodiscard]] Result<ScoreExtremes> gather_extremes(const ScoreExtremes& mine, std::uint32_t population,
                                                    Exchange& exchange);
/// Coefficient, mean and variance are still 0.
[[nodiscard]] abi::fitness::Summary summary_of(const ScoreExtremes& all);
/// Not-finite scores become the worst finite one, or 0 where none is finite.
void replace_not_finite(std::span<float> scores, const ScoreExtremes& all);

/// Scores in integers and in units of 2^E, without a call per score: double holds all of it exactly.
class ScoreScale {
   public:
    explicit ScoreScale(const ScoreExtremes& all)
        : exponent_(all.largest == 0 ? 0 : static_cast<int>(all.largest >> 23U) - 127),
          quanta_(std::ldexp(1.0, 24 - exponent_)),
          units_(std::ldexp(1.0, -exponent_)) {}
    [[nodiscard]] int exponent() const noexcept { return exponent_; }
    /// Multiples of 2^(E-24), half to even: 1.5 * 2^52 leaves no bits below 1, and its own rounding is the one wanted.
    [[nodiscard]] std::int64_t quantized(float score) const noexcept {
        constexpr double kShift = 0x1.8p52;
        return std::bit_cast<std::int64_t>(static_cast<double>(score) * quanta_ + kShift) -
               std::bit_cast<std::int64_t>(kShift);
    }
    [[nodiscard]] float difference(float plus, float minus) const noexcept {
        return exact::exact_flush(in_units(plus) - in_units(minus));
    }

   private:
    [[nodiscard]] float in_units(float score) const noexcept {
        const double moved = static_cast<double>(score) * units_;
        return std::abs(moved) < 0x1p-100 ? 0.0F : static_cast<float>(moved);
    }
    int exponent_;
    double quanta_, units_;
};

/// Part of the sum of a group's quantized scores.
struct GroupShare {
    std::uint32_t group = UINT32_MAX;
    std::uint32_t unused = 0;
    std::int64_t sum = 0;
};

/// Of the scores as they count.
struct MomentSums {
    std::int64_t sum = 0;
    std::uint64_t squares_low = 0, squares_high = 0;
    std::uint32_t largest_difference = 0;  ///< magnitude, as bits
    std::uint32_t nonzero = 0;             ///< pairs whose members differ
    std::array<GroupShare, 2> edges{};     ///< the first and the last group, which other ranks may have members of
};

struct PopulationMoments {
    reference::ScoreMoments scores{};
    float largest_difference = 0.0F;  ///< in units of 2^E
    std::uint32_t nonzero = 0;
    std::uint32_t first_group = 0;
    std::vector<std::int64_t> group_sums{};  ///< of the groups that this rank has members of
};

/// Whether weights depend on the means of groups: not where the two members of each pair are of one group.
[[nodiscard]] bool needs_groups(const FitnessDesc& desc) noexcept;
/// `differences` [pairs] are of this rank's pairs, in units of 2^E; empty where the rule has none.
[[nodiscard]] Result<PopulationMoments> gather_moments(const FitnessDesc& desc, const MemberRange& members,
                                                       std::span<const float> scores,
                                                       std::span<const float> differences, const ScoreScale& scale,
                                                       Exchange& exchange);

/// The lower median of the magnitudes of the differences other than 0, of which there are `nonzero`, at least 1, on all
/// ranks: a digit of 8 bits in each of four rounds.
[[nodiscard]] Result<float> gather_median(std::span<const float> differences, std::uint32_t nonzero,
                                          Exchange& exchange);

/// One struct from each rank.
template <class T>
Result<std::vector<T>> gather_each(const T& mine, Exchange& exchange) {
    static_assert(std::is_trivially_copyable_v<T>);
    YOLK_TRY(const auto all, exchange.all_gather(std::as_bytes(std::span(&mine, 1))));
    std::vector<T> values(all.size());
    for (std::size_t rank = 0; rank < all.size(); ++rank) {
        if (all[rank].size() != sizeof(T))
            return failed_work("Rank {} sent {} bytes where {} were expected: the ranks are not in step.", rank,
                               all[rank].size(), sizeof(T));
        std::memcpy(&values[rank], all[rank].data(), sizeof(T));
    }
    return values;
}

}  // namespace yolk::evolve
