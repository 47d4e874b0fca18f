// SPDX-License-Identifier: Apache-2.0
// The oracle of fitness: textbook formulas in double on the scores themselves, sorting for medians, the definition for
// ranks. Tolerances follow from the kernels' documented roundings: u = 2^-24 per fp32 operation, quantization to
// 2^(E-24), flushes below 2^-100.
#include <algorithm>
#include <cmath>
#include <limits>
#include <tuple>

#include "fitness_oracle.hpp"
#include "yolk/internal/oracle/error_bounds.hpp"

namespace yolk::oracle {
namespace {

constexpr double kScoreFlushed = 0x1p-98;  // a few flushes
constexpr double kLargestScore = static_cast<double>(std::numeric_limits<float>::max());

struct Scores {
    std::vector<double> f;
    int exponent = 0;      ///< E: magnitudes are below 2^(E+1)
    double quantum = 0.0;  ///< largest error of a quantized score
    FitnessValue mean, variance;

    [[nodiscard]] std::size_t pairs() const { return f.size() / 2; }
    [[nodiscard]] double difference(std::size_t pair) const { return f[2 * pair] - f[2 * pair + 1]; }
    /// What flushing in units of 2^E may take from a difference.
    [[nodiscard]] double lost() const { return std::ldexp(kScoreFlushed, exponent); }
};

void replace_not_finite(std::span<const float> scores, FitnessOracle& oracle, Scores& all) {
    std::vector<double> finite;
    for (std::size_t member = 0; member < scores.size(); ++member) {
        if (std::isfinite(scores[member])) {
            finite.push_back(static_cast<double>(scores[member]));
        } else if (oracle.not_finite_count++ == 0) {
            oracle.first_not_finite = static_cast<std::uint32_t>(member);
        }
    }
    if (!finite.empty())
        std::tie(oracle.worst, oracle.best) =
            std::pair{*std::ranges::min_element(finite), *std::ranges::max_element(finite)};
    for (const float score : scores) all.f.push_back(std::isfinite(score) ? static_cast<double>(score) : oracle.worst);
}

void take_moments(Scores& all) {
    const auto count = static_cast<double>(all.f.size());
    double largest = 0.0;
    double sum = 0.0;
    for (const double f : all.f) largest = std::max(largest, std::abs(f)), sum += f / count;
    all.exponent = largest == 0.0 ? 0 : std::ilogb(largest);
    all.quantum = std::ldexp(1.0, all.exponent - 25);
    const double rounding_of_sum = std::ldexp(largest, -52) * count;
    all.mean = {sum, all.quantum + 3.1 * kFp32Rounding * std::abs(sum) + rounding_of_sum + kScoreFlushed};
    double variance = 0.0;
    for (const double f : all.f) variance += (f - sum) * (f - sum) / count;
    const double shift = 2.0 * all.quantum * std::sqrt(variance) + all.quantum * all.quantum;
    all.variance = {variance,
                    shift + 5.1 * kFp32Rounding * variance + rounding_of_sum * rounding_of_sum + kScoreFlushed};
}

/// 1 / sqrt(var + 1e-5); the tolerance is relative here.
FitnessValue inverse_deviation(const Scores& all) {
    const double total = all.variance.value + 1e-5;
    const int unit = std::max(all.exponent, -40);
    const double error = all.variance.tolerance + 2.1 * kFp32Rounding * total + std::ldexp(kScoreFlushed, 2 * unit);
    return {1.0 / std::sqrt(total), 0.51 * error / total + kSqrtError + kReciprocalError};
}

double share_of(double difference, double scale) {
    return scale == 0.0 ? 0.0 : std::clamp(127.0 * difference / scale, -127.0, 127.0);
}

void weigh_differences(const FitnessDesc& desc, const Scores& all, FitnessOracle& oracle) {
    std::vector<double> magnitudes;
    for (std::size_t pair = 0; pair < all.pairs(); ++pair) {
        if (all.difference(pair) != 0.0) magnitudes.push_back(std::abs(all.difference(pair)));
    }
    std::ranges::sort(magnitudes);
    double scale = magnitudes.empty() ? 0.0 : magnitudes.back();
    if (desc.robust && !magnitudes.empty()) scale = std::min(scale, 6.0 * magnitudes[(magnitudes.size() - 1) / 2]);
    const double lost = scale == 0.0 ? 0.0 : 127.0 * all.lost() / scale;
    for (std::size_t pair = 0; pair < all.pairs(); ++pair) {
        // Half a step of rounding; the difference, the scale and six medians each carry one rounding.
        oracle.weights.push_back({share_of(all.difference(pair), scale), 0.5 + 127.0 * 3.1 * kFp32Rounding + lost});
    }
    const FitnessValue inverse = inverse_deviation(all);
    const double value = scale / 127.0 * inverse.value;
    oracle.coefficient = {
        value, value * (inverse.tolerance + 5.1 * kFp32Rounding) + all.lost() * inverse.value + kScoreFlushed};
}

void weigh_signs(const Scores& all, FitnessOracle& oracle) {
    double nonzero = 0.0;
    for (std::size_t pair = 0; pair < all.pairs(); ++pair) {
        const double difference = all.difference(pair);
        const auto sign = static_cast<double>((difference > 0.0) - (difference < 0.0));
        nonzero += std::abs(sign);
        oracle.weights.push_back({sign, std::abs(difference) < all.lost() ? 1.0 : 0.0});
    }
    // Members are shaped to +-c/2 or 0; their mean square is 1.
    const double value = nonzero == 0.0 ? 0.0 : 2.0 * std::sqrt(static_cast<double>(all.f.size()) / (2.0 * nonzero));
    oracle.coefficient = {value, value * (0.51 * (kReciprocalError + 1.1 * kFp32Rounding) + kSqrtError)};
}

void weigh_ranks(const FitnessDesc& desc, const Scores& all, FitnessOracle& oracle) {
    const auto count = static_cast<double>(all.f.size());
    std::vector<double> ranks;
    double squares = 0.0;
    std::vector<double> sorted = all.f;
    std::ranges::sort(sorted);
    for (const double f : all.f) {
        const auto [first, last] = std::equal_range(sorted.begin(), sorted.end(), f);
        const auto worse = first - sorted.begin();
        const auto equal = last - first;
        const double rank = static_cast<double>(worse) + static_cast<double>(equal - 1) / 2.0;
        ranks.push_back(rank / (count - 1.0) - 0.5);
        squares += ranks.back() * ranks.back() / count;
    }
    double scale = 0.0;
    std::vector<double> weighed;
    for (std::size_t i = 0; i < (desc.antithetic ? all.pairs() : ranks.size()); ++i)
        weighed.push_back(desc.antithetic ? ranks[2 * i] - ranks[2 * i + 1] : ranks[i]);
    for (const double rank : weighed) scale = std::max(scale, std::abs(rank));
    if (scale < 1e-9) scale = 0.0;  // ranks are multiples of 1/(2 (N - 1))
    for (const double rank : weighed) oracle.weights.push_back({share_of(rank, scale), 0.5 + 1e-9});
    const double value = scale == 0.0 ? 0.0 : scale / 127.0 / std::sqrt(squares);
    oracle.coefficient = {value, value * (4.6 * kFp32Rounding + kSqrtError + kReciprocalError)};
}

/// Of each group of so many members.
std::vector<double> group_means(const Scores& all, std::size_t size) {
    std::vector<double> means(all.f.size() / size, 0.0);
    for (std::size_t i = 0; i < means.size() * size; ++i) means[i / size] += all.f[i] / static_cast<double>(size);
    return means;
}

void weigh_members(const FitnessDesc& desc, const Scores& all, FitnessOracle& oracle) {
    const FitnessValue inverse = inverse_deviation(all);
    const std::size_t size = desc.rule == FitnessRule::GroupZScore ? desc.group_size : all.f.size();
    const std::vector<double> means = group_means(all, size);
    for (std::size_t member = 0; member < all.f.size(); ++member) {
        const double value = (all.f[member] - means[member / size]) * inverse.value;
        // The quantized score and the mean of such; the sum's conversion, the reciprocal and its product round a
        // difference below 2^(E+2). Beside them the mean in double, whose terms are below 2^(E+1).
        const double absolute = all.lost() + 2.0 * all.quantum +
                                3.1 * kFp32Rounding * std::ldexp(1.0, all.exponent + 2) +
                                std::ldexp(static_cast<double>(size), all.exponent - 51);
        oracle.weights.push_back({value, std::abs(value) * (inverse.tolerance + 2.1 * kFp32Rounding) +
                                             absolute * inverse.value + kScoreFlushed});
    }
    oracle.coefficient = {1.0, 0.0};
}

void weigh_floats(const FitnessDesc& desc, const Scores& all, FitnessOracle& oracle) {
    if (!desc.antithetic) return weigh_members(desc, all, oracle);
    const FitnessValue inverse = inverse_deviation(all);
    const bool grouped = desc.rule == FitnessRule::GroupZScore;
    const std::vector<double> means = grouped ? group_means(all, desc.group_size) : std::vector<double>();
    for (std::size_t pair = 0; pair < all.pairs(); ++pair) {
        double difference = all.difference(pair);
        double absolute = all.lost();
        if (grouped) {
            difference -= means[2 * pair / desc.group_size];
            difference += means[(2 * pair + 1) / desc.group_size];
            // Two quantized means of three roundings, their difference and its use: each below 2^(E+2).
            absolute += 2.0 * all.quantum + 10.0 * kFp32Rounding * std::ldexp(1.0, all.exponent + 2);
        }
        const double value = difference * inverse.value;
        oracle.weights.push_back({value, std::abs(value) * (inverse.tolerance + 2.1 * kFp32Rounding) +
                                             absolute * inverse.value + kScoreFlushed});
    }
    oracle.coefficient = {1.0, 0.0};
}

}  // namespace

std::vector<FitnessValue> fitness_score_oracle(const FitnessDesc& desc, std::span<const float> returns) {
    std::vector<FitnessValue> scores;
    const double episodes = desc.episodes;
    for (std::size_t member = 0; member < desc.population; ++member) {
        double sum = 0.0;
        double magnitude = 0.0;
        bool finite = true;
        for (std::size_t episode = 0; episode < desc.episodes; ++episode) {
            const auto value = static_cast<double>(returns[episode * desc.population + member]);
            sum += value;
            magnitude += std::abs(value);
            finite = finite && std::isfinite(value) && std::abs(sum) <= kLargestScore;
        }
        const double value = finite ? sum / episodes : std::numeric_limits<double>::quiet_NaN();
        // One rounding per addition, one of the reciprocal, one of the product.
        scores.push_back({value, (episodes + 1.1) * kFp32Rounding * magnitude / episodes + kScoreFlushed});
    }
    return scores;
}

FitnessOracle fitness_oracle(const FitnessDesc& desc, std::span<const float> scores) {
    FitnessOracle oracle;
    Scores all;
    replace_not_finite(scores, oracle, all);
    take_moments(all);
    oracle.mean = all.mean;
    oracle.variance = all.variance;
    if (oracle.variance.value > kLargestScore) oracle.variance = {kLargestScore, 0.0};
    switch (desc.rule) {
        case FitnessRule::PairDifference: weigh_differences(desc, all, oracle); break;
        case FitnessRule::PairSign: weigh_signs(all, oracle); break;
        case FitnessRule::CentredRank: weigh_ranks(desc, all, oracle); break;
        case FitnessRule::ZScore:
        case FitnessRule::GroupZScore: weigh_floats(desc, all, oracle); break;
    }
    return oracle;
}

}  // namespace yolk::oracle
