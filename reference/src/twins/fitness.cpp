// SPDX-License-Identifier: Apache-2.0
// The exact twin of fitness: the same roundings by other means (128-bit integers, exact doubles, sorting where the
// kernels count).
#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>
#include <numeric>

#include "twin_source.hpp"
#include "yolk/exact/exact_math.h"
#include "yolk/fitness.hpp"
#include "yolk/internal/core/shape.hpp"
#include "yolk/internal/reference/fitness_summary.hpp"

namespace yolk::reference {
namespace {

/// One weight per pair (or member), of one of the two kinds.
struct FitnessTwin {
    std::vector<float> scores;
    std::vector<std::int8_t> integer_weights;
    std::vector<float> float_weights;
    abi::fitness::Summary summary{};
};

/// 127 part / whole to the nearest integer, ties to even: IEEE's remainder is exact, and so is what it leaves.
int rounded_share(double part, double whole) {
    const double scaled_part = 127.0 * part;
    return static_cast<int>((scaled_part - std::remainder(scaled_part, whole)) / whole);
}

float score_of(const FitnessDesc& desc, std::span<const float> returns, std::size_t member) {
    float sum = 0.0F;
    bool finite = true;
    for (std::size_t episode = 0; episode < desc.episodes; ++episode) {
        const float value = returns[episode * desc.population + member];
        finite = finite && std::isfinite(value);
        sum = sum + exact::exact_flush(value);
    }
    const float score = flushed_score_product(sum, 1.0F / static_cast<float>(desc.episodes));
    const bool is_nan = std::isnan(score) || (!finite && std::isfinite(score));
    return is_nan ? std::numeric_limits<float>::quiet_NaN() : score;
}

/// Scores as they count, and their exact statistics.
struct Population : ScoreMoments {
    std::vector<float> counted;  ///< not-finite ones replaced

    [[nodiscard]] std::int64_t quantized(std::size_t member) const {
        return static_cast<std::int64_t>(
            std::nearbyint(std::ldexp(static_cast<double>(counted[member]), 24 - exponent)));
    }
    [[nodiscard]] float difference(std::size_t pair) const {
        return exact::exact_flush(scaled_score(counted[2 * pair], -exponent) -
                                  scaled_score(counted[2 * pair + 1], -exponent));
    }
};

Population population_of(const std::vector<float>& scores, const abi::fitness::Summary& summary) {
    Population all;
    all.population = static_cast<std::uint32_t>(scores.size());
    float largest = 0.0F;
    for (const float score : scores) {
        all.counted.push_back(std::isfinite(score) ? score : summary.worst);
        largest = std::max(largest, std::abs(all.counted.back()));
    }
    all.exponent = largest == 0.0F ? 0 : std::ilogb(largest);
    for (std::size_t member = 0; member < scores.size(); ++member) {
        const std::int64_t count = all.quantized(member);
        all.sum += count;
        all.squares += static_cast<WideSum>(count * count);
    }
    return all;
}

void add_extremes(const std::vector<float>& scores, abi::fitness::Summary& summary) {
    summary.first_not_finite = 0xFFFFFFFFU;
    bool any = false;
    for (std::size_t member = 0; member < scores.size(); ++member) {
        const float score = scores[member];
        if (!std::isfinite(score)) {
            if (summary.not_finite_count++ == 0) summary.first_not_finite = static_cast<std::uint32_t>(member);
            continue;
        }
        summary.best = any ? std::max(summary.best, score) : score;
        summary.worst = any ? std::min(summary.worst, score) : score;
        any = true;
    }
    summary.finite_count = static_cast<std::uint32_t>(scores.size()) - summary.not_finite_count;
}

std::vector<float> differences_of(const Population& all) {
    std::vector<float> differences(all.counted.size() / 2);
    for (std::size_t pair = 0; pair < differences.size(); ++pair) differences[pair] = all.difference(pair);
    return differences;
}

/// What becomes 127: the largest magnitude, or six lower medians of the non-zero ones.
float scale_of(const std::vector<float>& differences, bool robust) {
    std::vector<float> magnitudes;
    for (const float difference : differences) {
        if (difference != 0.0F) magnitudes.push_back(std::abs(difference));
    }
    if (magnitudes.empty()) return 0.0F;
    std::ranges::sort(magnitudes);
    const float median = magnitudes[(magnitudes.size() - 1) / 2];
    return robust ? robust_scale(magnitudes.back(), median) : magnitudes.back();
}

void weigh_differences(const FitnessDesc& desc, const Population& all, FitnessTwin& twin) {
    const std::vector<float> differences = differences_of(all);
    const float scale = scale_of(differences, desc.robust);
    for (const float difference : differences) {
        const float magnitude = std::min(std::abs(difference), scale);
        const int share =
            magnitude == 0.0F ? 0 : rounded_share(static_cast<double>(magnitude), static_cast<double>(scale));
        twin.integer_weights.push_back(static_cast<std::int8_t>(difference < 0.0F ? -share : share));
    }
    twin.summary.coefficient = difference_coefficient(all, scale);
}

void weigh_signs(const Population& all, FitnessTwin& twin) {
    std::uint32_t nonzero = 0;
    for (const float difference : differences_of(all)) {
        nonzero += static_cast<std::uint32_t>(difference != 0.0F);
        twin.integer_weights.push_back(static_cast<std::int8_t>((difference > 0.0F) - (difference < 0.0F)));
    }
    twin.summary.coefficient = sign_coefficient(all.population, nonzero);
}

/// Twice the rank, centred, ties averaged.
std::vector<std::int64_t> centred_ranks(const std::vector<float>& scores) {
    std::vector<std::size_t> order(scores.size());
    std::iota(order.begin(), order.end(), std::size_t{0});
    std::ranges::sort(order, {}, [&](std::size_t member) { return scores[member]; });
    std::vector<std::int64_t> ranks(scores.size());
    for (std::size_t begin = 0; begin < order.size();) {
        std::size_t end = begin;
        while (end < order.size() && scores[order[end]] == scores[order[begin]]) ++end;
        const auto doubled = static_cast<std::int64_t>(begin + end - 1);  // first + last rank of the tie
        for (; begin < end; ++begin) ranks[order[begin]] = doubled - static_cast<std::int64_t>(scores.size() - 1);
    }
    return ranks;
}

void weigh_ranks(const FitnessDesc& desc, const Population& all, FitnessTwin& twin) {
    const std::vector<std::int64_t> ranks = centred_ranks(all.counted);
    std::int64_t largest = 0;
    std::uint64_t squares = 0;
    for (const std::int64_t rank : ranks) squares += static_cast<std::uint64_t>(rank * rank);
    std::vector<std::int64_t> weighed;
    for (std::size_t i = 0; i < (desc.antithetic ? ranks.size() / 2 : ranks.size()); ++i)
        weighed.push_back(desc.antithetic ? ranks[2 * i] - ranks[2 * i + 1] : ranks[i]);
    for (const std::int64_t rank : weighed) largest = std::max(largest, std::abs(rank));
    for (const std::int64_t rank : weighed) {
        const auto difference = static_cast<double>(rank);
        twin.integer_weights.push_back(
            largest == 0 ? std::int8_t{0}
                         : static_cast<std::int8_t>(rounded_share(difference, static_cast<double>(largest))));
    }
    twin.summary.coefficient = rank_coefficient(all.population, largest, squares);
}

float group_mean(const FitnessDesc& desc, const Population& all, std::size_t group) {
    std::int64_t sum = 0;
    for (std::size_t i = 0; i < desc.group_size; ++i) sum += all.quantized(group * desc.group_size + i);
    return scaled_score(flushed_score_product(static_cast<float>(sum), 1.0F / static_cast<float>(desc.group_size)),
                        -24);
}

/// One per member, from the quantized scores: equal ones give zero.
void weigh_members(const FitnessDesc& desc, const Population& all, FitnessTwin& twin) {
    const std::size_t size = desc.rule == FitnessRule::GroupZScore ? desc.group_size : all.counted.size();
    const float reciprocal = 1.0F / static_cast<float>(size);
    const float inverse = all.inverse_deviation();
    for (std::size_t first = 0; first < all.counted.size(); first += size) {
        std::int64_t sum = 0;
        for (std::size_t i = 0; i < size; ++i) sum += all.quantized(first + i);
        for (std::size_t i = 0; i < size; ++i) {
            const std::int64_t total = static_cast<std::int64_t>(size) * all.quantized(first + i) - sum;
            const float difference = scaled_score(flushed_score_product(static_cast<float>(total), reciprocal), -24);
            twin.float_weights.push_back(
                flushed_score_product(scaled_score(difference, all.exponent - all.unit()), inverse));
        }
    }
    twin.summary.coefficient = 1.0F;
}

void weigh_floats(const FitnessDesc& desc, const Population& all, FitnessTwin& twin) {
    if (!desc.antithetic) return weigh_members(desc, all, twin);
    const float inverse = all.inverse_deviation();
    for (std::size_t pair = 0; pair < all.counted.size() / 2; ++pair) {
        float difference = all.difference(pair);
        if (desc.rule == FitnessRule::GroupZScore && 2 * pair / desc.group_size != (2 * pair + 1) / desc.group_size) {
            const float shift = group_mean(desc, all, (2 * pair + 1) / desc.group_size) -
                                group_mean(desc, all, 2 * pair / desc.group_size);
            difference = exact::exact_flush(difference + shift);
        }
        twin.float_weights.push_back(
            flushed_score_product(scaled_score(difference, all.exponent - all.unit()), inverse));
    }
    twin.summary.coefficient = 1.0F;
}

}  // namespace

void run_twin(const FitnessDesc& desc, const HostViews& views) {
    FitnessTwin twin;
    for (std::size_t member = 0; member < desc.population; ++member)
        twin.scores.push_back(score_of(desc, views.in<float>(0), member));
    add_extremes(twin.scores, twin.summary);
    const Population all = population_of(twin.scores, twin.summary);
    twin.summary.mean = all.mean();
    twin.summary.variance = all.variance();
    switch (desc.rule) {
        case FitnessRule::PairDifference: weigh_differences(desc, all, twin); break;
        case FitnessRule::PairSign: weigh_signs(all, twin); break;
        case FitnessRule::CentredRank: weigh_ranks(desc, all, twin); break;
        case FitnessRule::ZScore:
        case FitnessRule::GroupZScore: weigh_floats(desc, all, twin); break;
    }
    twin.integer_weights.resize(round_up(twin.integer_weights.size(), 4));
    copy_wanted<float>(twin.scores, views.out<float>(1));
    if (is_integer_rule(desc.rule)) {
        copy_wanted<std::int8_t>(twin.integer_weights, views.out<std::int8_t>(2));
    } else {
        copy_wanted<float>(twin.float_weights, views.out<float>(2));
    }
    for (abi::fitness::Summary& summary : views.out<abi::fitness::Summary>(3)) summary = twin.summary;
}
template struct Twin<FitnessDesc>;

}  // namespace yolk::reference
