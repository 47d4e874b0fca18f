// SPDX-License-Identifier: Apache-2.0
#include "yolk/internal/evolve/shaping.hpp"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>

#include "score_ranks.hpp"
#include "score_statistics.hpp"

namespace yolk::evolve {
namespace {

/// The scores of some members on their way to weights.
struct Shaping {
    const FitnessDesc& desc;
    MemberRange members;
    std::span<float> scores;  ///< [members.count], as they count
    ScoreScale scale;
    Exchange& exchange;
    std::vector<float> differences{};  ///< [pairs], in units of 2^E
    PopulationMoments moments{};
    ShapedGeneration shaped{};  ///< weights of these members alone

    Result<void> weigh();
    Result<void> weigh_differences();
    void weigh_signs();
    void weigh_ranks();
    void weigh_pairs();
    void weigh_members();
    [[nodiscard]] float group_mean(std::uint32_t group) const;
    [[nodiscard]] float z_score(float difference) const;
};

/// 127 part / whole, half to even. The quotient of doubles decides rightly: an exact quotient other than a tie is at
/// least 2^-34 from one (part has 24 bits, 127 part 31, and from 2^-9 whole on the share is not 0), its error is below
/// 2^-46, and ties are exact.
std::int8_t share_of_127(double part, double whole) noexcept {
    constexpr double kShift = 0x1.8p52;
    return static_cast<std::int8_t>(127.0 * part / whole + kShift - kShift);
}

Result<void> Shaping::weigh_differences() {
    float whole = moments.largest_difference;
    if (desc.robust && moments.nonzero != 0) {
        YOLK_TRY(const float median, gather_median(differences, moments.nonzero, exchange));
        whole = reference::robust_scale(whole, median);
    }
    shaped.integer_weights.resize(differences.size());
    if (whole > 0.0F) {
        std::ranges::transform(differences, shaped.integer_weights.begin(), [whole](float difference) {
            return share_of_127(static_cast<double>(std::clamp(difference, -whole, whole)), static_cast<double>(whole));
        });
    }
    shaped.summary.coefficient = reference::difference_coefficient(moments.scores, whole);
    return {};
}

void Shaping::weigh_signs() {
    shaped.integer_weights.resize(differences.size());
    std::ranges::transform(differences, shaped.integer_weights.begin(), [](float difference) {
        return static_cast<std::int8_t>((difference > 0.0F) - (difference < 0.0F));
    });
    shaped.summary.coefficient = reference::sign_coefficient(desc.population, moments.nonzero);
}

/// Only with the whole population.
void Shaping::weigh_ranks() {
    const std::vector<std::int32_t> ranks = centred_score_ranks(scores);
    std::uint64_t squares = 0;
    for (const std::int32_t rank : ranks) squares += static_cast<std::uint64_t>(std::int64_t{rank} * rank);
    std::vector<std::int32_t> weighed = ranks;
    if (desc.antithetic) {
        weighed.resize(ranks.size() / 2);
        for (std::size_t pair = 0; pair < weighed.size(); ++pair) weighed[pair] = ranks[2 * pair] - ranks[2 * pair + 1];
    }
    std::int32_t largest = 0;
    for (const std::int32_t rank : weighed) largest = std::max(largest, std::abs(rank));
    shaped.integer_weights.resize(weighed.size());
    if (largest != 0) {
        std::ranges::transform(weighed, shaped.integer_weights.begin(), [largest](std::int32_t rank) {
            return share_of_127(static_cast<double>(rank), static_cast<double>(largest));
        });
    }
    shaped.summary.coefficient = reference::rank_coefficient(desc.population, largest, squares);
}

/// In units of 2^E.
float Shaping::group_mean(std::uint32_t group) const {
    const auto sum = static_cast<float>(moments.group_sums[group - moments.first_group]);
    return reference::scaled_score(reference::flushed_score_product(sum, 1.0F / static_cast<float>(desc.group_size)),
                                   -24);
}

void Shaping::weigh_pairs() {
    const float inverse = moments.scores.inverse_deviation();
    const int power = moments.scores.exponent - moments.scores.unit();
    shaped.float_weights.resize(differences.size());
    for (std::uint32_t i = 0; i < differences.size(); ++i) {
        float difference = differences[i];
        if (needs_groups(desc)) {
            const std::uint32_t plus = (members.first + 2 * i) / desc.group_size;
            const std::uint32_t minus = (members.first + 2 * i + 1) / desc.group_size;
            if (plus != minus) difference = exact::exact_flush(difference + (group_mean(minus) - group_mean(plus)));
        }
        const float spread = power == 0 ? difference : reference::scaled_score(difference, power);
        shaped.float_weights[i] = reference::flushed_score_product(spread, inverse);
    }
}

/// f - mean from the quantized scores, as one exact integer: equal ones give zeros.
void Shaping::weigh_members() {
    const bool grouped = desc.rule == FitnessRule::GroupZScore;
    const std::uint32_t size = grouped ? desc.group_size : desc.population;
    const float reciprocal = 1.0F / static_cast<float>(size);
    const float inverse = moments.scores.inverse_deviation();
    const int power = moments.scores.exponent - moments.scores.unit();
    shaped.float_weights.resize(members.count);
    for (std::uint32_t i = 0; i < members.count; ++i) {
        const std::int64_t sum = grouped
                                     ? moments.group_sums[(members.first + i) / desc.group_size - moments.first_group]
                                     : moments.scores.sum;
        const auto total = static_cast<float>(std::int64_t{size} * scale.quantized(scores[i]) - sum);
        const float difference = reference::scaled_score(reference::flushed_score_product(total, reciprocal), -24);
        shaped.float_weights[i] = reference::flushed_score_product(reference::scaled_score(difference, power), inverse);
    }
}

Result<void> Shaping::weigh() {
    if (desc.antithetic && desc.rule != FitnessRule::CentredRank) {
        differences.resize(members.count / 2);
        for (std::size_t pair = 0; pair < differences.size(); ++pair)
            differences[pair] = scale.difference(scores[2 * pair], scores[2 * pair + 1]);
    }
    YOLK_TRY(moments, gather_moments(desc, members, scores, differences, scale, exchange));
    shaped.summary.mean = moments.scores.mean();
    shaped.summary.variance = moments.scores.variance();
    switch (desc.rule) {
        case FitnessRule::PairDifference: return weigh_differences();
        case FitnessRule::PairSign: weigh_signs(); return {};
        case FitnessRule::CentredRank: weigh_ranks(); return {};
        case FitnessRule::ZScore:
        case FitnessRule::GroupZScore: break;
    }
    shaped.summary.coefficient = 1.0F;
    if (desc.antithetic)
        weigh_pairs();
    else
        weigh_members();
    return {};
}

/// Everyone's, in the order of the ranks, which is that of the members.
template <class T>
Result<void> gather_all(std::vector<T>& values, Exchange& exchange) {
    if (exchange.ranks() == 1) return {};
    YOLK_TRY(const auto all, exchange.all_gather(std::as_bytes(std::span(values))));
    std::size_t bytes = 0;
    for (const auto& part : all) bytes += part.size();
    values.resize(bytes / sizeof(T));
    auto* to = reinterpret_cast<std::byte*>(values.data());
    for (const auto& part : all) to = std::ranges::copy(part, to).out;
    return {};
}

/// Everyone's scores, behind whose they are.
Result<void> gather_scores(const MemberRange& mine, std::uint32_t population, std::vector<float>& scores,
                           Exchange& exchange) {
    if (exchange.ranks() == 1) return {};
    std::vector<std::byte> message(sizeof(mine) + scores.size() * sizeof(float));
    std::memcpy(message.data(), &mine, sizeof(mine));
    std::ranges::copy(std::as_bytes(std::span(scores)), message.begin() + sizeof(mine));
    YOLK_TRY(const auto all, exchange.all_gather(message));
    MemberRange members{};
    scores.resize(population);
    for (std::size_t rank = 0; rank < all.size(); ++rank) {
        MemberRange part{};
        if (all[rank].size() >= sizeof(part)) std::memcpy(&part, all[rank].data(), sizeof(part));
        if (all[rank].size() != sizeof(part) + sizeof(float) * part.count)
            return failed_work("Rank {} sent {} bytes, which are not its scores: the ranks are not in step.", rank,
                               all[rank].size());
        YOLK_TRY_VOID(append_members(members, part, rank, population));
        std::ranges::copy(std::span(all[rank]).subspan(sizeof(part)),
                          std::as_writable_bytes(std::span(scores).subspan(part.first)).begin());
    }
    scores.resize(members.count);
    return {};
}

Result<void> check_shared(const FitnessDesc& desc, const MemberRange& mine, std::span<const float> returns) {
    if (returns.size() != std::size_t{desc.episodes} * mine.count) {
        return bad_input("There are {} returns for {} members of {} episodes each.", returns.size(), mine.count,
                         desc.episodes);
    }
    if (desc.antithetic && (mine.first % 2 != 0 || mine.count % 2 != 0)) {
        return bad_input("There are {} members from member {}; members come in pairs, which stay together.", mine.count,
                         mine.first);
    }
    return {};
}

Result<ShapedGeneration> shape_members(const FitnessDesc& desc, const MemberRange& mine, std::span<float> scores,
                                       Exchange& exchange) {
    YOLK_TRY(const ScoreExtremes all, gather_extremes(extremes_of(mine, scores), desc.population, exchange));
    replace_not_finite(scores, all);
    Shaping shaping{.desc = desc, .members = mine, .scores = scores, .scale = ScoreScale(all), .exchange = exchange};
    shaping.shaped.summary = summary_of(all);
    YOLK_TRY_VOID(shaping.weigh());
    YOLK_TRY_VOID(is_integer_rule(desc.rule) ? gather_all(shaping.shaped.integer_weights, exchange)
                                             : gather_all(shaping.shaped.float_weights, exchange));
    return std::move(shaping.shaped);
}

}  // namespace

std::vector<float> mean_scores(std::span<const float> returns, std::uint32_t episodes) {
    const std::size_t members = episodes == 0 ? 0 : returns.size() / episodes;
    std::vector<float> scores(members, 0.0F);
    for (std::size_t episode = 0; episode < episodes; ++episode) {
        const float* const row = returns.data() + episode * members;
        for (std::size_t member = 0; member < members; ++member) scores[member] += exact::exact_flush(row[member]);
    }
    const float reciprocal = 1.0F / static_cast<float>(episodes);
    for (float& score : scores) {
        score = reference::flushed_score_product(score, reciprocal);
        if (std::isnan(score)) score = std::numeric_limits<float>::quiet_NaN();
    }
    return scores;
}

Result<ShapedGeneration> shape_scores(const FitnessDesc& desc, const MemberRange& mine, std::span<const float> returns,
                                      Exchange& exchange) {
    YOLK_TRY_VOID(check_shared(desc, mine, returns));
    std::vector<float> scores = mean_scores(returns, desc.episodes);
    if (desc.rule != FitnessRule::CentredRank) return shape_members(desc, mine, scores, exchange);
    YOLK_TRY_VOID(gather_scores(mine, desc.population, scores, exchange));
    SoloExchange alone;
    return shape_members(desc, {.first = 0, .count = static_cast<std::uint32_t>(scores.size())}, scores, alone);
}

Result<ShapedGeneration> shape_scores(const FitnessDesc& desc, std::span<const float> returns) {
    SoloExchange alone;
    return shape_scores(desc, {.first = 0, .count = desc.population}, returns, alone);
}

}  // namespace yolk::evolve
