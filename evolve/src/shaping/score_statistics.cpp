// SPDX-License-Identifier: Apache-2.0
#include "score_statistics.hpp"

#include <algorithm>

namespace yolk::evolve {
namespace {

constexpr std::uint32_t kScoreMagnitude = 0x7FFFFFFFU;
constexpr std::uint32_t kScoreNotFinite = 0x7F800000U;  // magnitudes from here on
constexpr std::size_t kDigits = 4;
constexpr std::size_t kDigitValues = 256;

/// Integers in the order of the finite floats, and back.
std::int32_t key_of(std::uint32_t bits) noexcept {
    const auto signed_bits = std::bit_cast<std::int32_t>(bits);
    return signed_bits < 0 ? signed_bits ^ INT32_MAX : signed_bits;
}
float score_of_key(std::int32_t key) noexcept { return std::bit_cast<float>(key < 0 ? key ^ INT32_MAX : key); }

void take_extremes(ScoreExtremes& all, const ScoreExtremes& part) {
    all.largest = std::max(all.largest, part.largest);
    all.best_key = std::max(all.best_key, part.best_key);
    all.worst_key = std::min(all.worst_key, part.worst_key);
    all.not_finite += part.not_finite;
    all.first_not_finite = std::min(all.first_not_finite, part.first_not_finite);
}

/// Of the groups that these members are of.
std::vector<std::int64_t> sums_of_groups(std::uint32_t group_size, const MemberRange& members,
                                         std::span<const float> scores, const ScoreScale& scale) {
    if (members.count == 0) return {};
    const std::uint32_t first = members.first / group_size;
    std::vector<std::int64_t> sums((members.first + members.count - 1) / group_size - first + 1);
    for (std::uint32_t i = 0; i < members.count; ++i)
        sums[(members.first + i) / group_size - first] += scale.quantized(scores[i]);
    return sums;
}

MomentSums moments_of(std::span<const float> scores, std::span<const float> differences, const ScoreScale& scale) {
    MomentSums sums;
    reference::WideSum squares = 0;
    for (const float score : scores) {
        const std::int64_t count = scale.quantized(score);
        sums.sum += count;
        squares += static_cast<std::uint64_t>(count * count);
    }
    sums.squares_low = static_cast<std::uint64_t>(squares);
    sums.squares_high = static_cast<std::uint64_t>(squares >> 64U);
    for (const float difference : differences) {
        const std::uint32_t magnitude = std::bit_cast<std::uint32_t>(difference) & kScoreMagnitude;
        sums.largest_difference = std::max(sums.largest_difference, magnitude);
        sums.nonzero += static_cast<std::uint32_t>(magnitude != 0);
    }
    return sums;
}

}  // namespace

ScoreExtremes extremes_of(const MemberRange& members, std::span<const float> scores) {
    ScoreExtremes found{.members = members};
    for (std::uint32_t i = 0; i < members.count; ++i) {
        const auto bits = std::bit_cast<std::uint32_t>(scores[i]);
        const std::uint32_t magnitude = bits & kScoreMagnitude;
        if (magnitude >= kScoreNotFinite) {
            if (found.not_finite++ == 0) found.first_not_finite = members.first + i;
            continue;
        }
        const std::int32_t key = key_of(bits);
        found.largest = std::max(found.largest, magnitude);
        found.best_key = std::max(found.best_key, key);
        found.worst_key = std::min(found.worst_key, key);
    }
    return found;
}

Result<void> append_members(MemberRange& all, const MemberRange& members, std::size_t rank, std::uint32_t population) {
    if (members.first != all.count || members.count > population - members.first) {
        return bad_input("Rank {} has {} members from member {}; those of the ranks before it end at {} of {}.", rank,
                         members.count, members.first, all.count, population);
    }
    all.count += members.count;
    return {};
}

Result<ScoreExtremes> gather_extremes(const ScoreExtremes& mine, std::uint32_t population, Exchange& exchange) {
    YOLK_TRY(const std::vector<ScoreExtremes> parts, gather_each(mine, exchange));
    ScoreExtremes all;
    for (std::size_t rank = 0; rank < parts.size(); ++rank) {
        YOLK_TRY_VOID(append_members(all.members, parts[rank].members, rank, population));
        take_extremes(all, parts[rank]);
    }
    if (all.members.count != population)
        return bad_input("The ranks have {} members; the population is {}.", all.members.count, population);
    return all;
}

abi::fitness::Summary summary_of(const ScoreExtremes& all) {
    const bool any = all.not_finite < all.members.count;
    return {.coefficient = 0.0F,
            .mean = 0.0F,
            .best = any ? score_of_key(all.best_key) : 0.0F,
            .worst = any ? score_of_key(all.worst_key) : 0.0F,
            .variance = 0.0F,
            .not_finite_count = all.not_finite,
            .first_not_finite = all.first_not_finite,
            .finite_count = all.members.count - all.not_finite};
}

void replace_not_finite(std::span<float> scores, const ScoreExtremes& all) {
    if (all.not_finite == 0) return;
    const float worst = summary_of(all).worst;
    std::ranges::replace_if(
        scores, [](float score) { return !std::isfinite(score); }, worst);
}

bool needs_groups(const FitnessDesc& desc) noexcept {
    return desc.rule == FitnessRule::GroupZScore && (!desc.antithetic || desc.group_size % 2 != 0);
}

Result<PopulationMoments> gather_moments(const FitnessDesc& desc, const MemberRange& members,
                                         std::span<const float> scores, std::span<const float> differences,
                                         const ScoreScale& scale, Exchange& exchange) {
    MomentSums mine = moments_of(scores, differences, scale);
    PopulationMoments all;
    if (needs_groups(desc) && members.count > 0) {
        all.first_group = members.first / desc.group_size;
        all.group_sums = sums_of_groups(desc.group_size, members, scores, scale);
        const auto last = static_cast<std::uint32_t>(all.group_sums.size() - 1);
        mine.edges[0] = {.group = all.first_group, .sum = all.group_sums.front()};
        if (last > 0) mine.edges[1] = {.group = all.first_group + last, .sum = all.group_sums.back()};
    }
    YOLK_TRY(const std::vector<MomentSums> parts, gather_each(mine, exchange));
    all.scores = {.population = desc.population, .exponent = scale.exponent()};
    std::uint32_t largest = 0;
    for (std::size_t rank = 0; rank < parts.size(); ++rank) {
        const MomentSums& part = parts[rank];
        all.scores.sum += part.sum;
        all.scores.squares += (static_cast<reference::WideSum>(part.squares_high) << 64U) | part.squares_low;
        largest = std::max(largest, part.largest_difference);
        all.nonzero += part.nonzero;
        if (rank == exchange.rank()) continue;
        for (const GroupShare& edge : part.edges) {
            if (edge.group >= all.first_group && edge.group - all.first_group < all.group_sums.size())
                all.group_sums[edge.group - all.first_group] += edge.sum;
        }
    }
    all.largest_difference = std::bit_cast<float>(largest);
    return all;
}

Result<float> gather_median(std::span<const float> differences, std::uint32_t nonzero, Exchange& exchange) {
    std::uint32_t remaining = (nonzero - 1) / 2;
    std::uint32_t prefix = 0;
    for (std::size_t digit = 0; digit < kDigits; ++digit) {
        const std::size_t shift = 8 * (kDigits - 1 - digit);
        std::array<std::uint32_t, kDigitValues> counts{};
        for (const float difference : differences) {
            const std::uint32_t magnitude = std::bit_cast<std::uint32_t>(difference) & kScoreMagnitude;
            if (magnitude != 0 && (std::uint64_t{magnitude} >> (shift + 8)) == prefix)
                ++counts[(magnitude >> shift) % kDigitValues];
        }
        YOLK_TRY(const auto parts, gather_each(counts, exchange));
        std::size_t value = 0;
        for (; value < kDigitValues - 1; ++value) {
            std::uint32_t count = 0;
            for (const auto& part : parts) count += part[value];
            if (remaining < count) break;
            remaining -= count;
        }
        prefix = (prefix << 8U) | static_cast<std::uint32_t>(value);
    }
    return std::bit_cast<float>(prefix);
}

}  // namespace yolk::evolve
