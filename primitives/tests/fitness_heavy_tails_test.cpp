// SPDX-License-Identifier: Apache-2.0
// fitness where one score is 10^4 and the pairs' differences are of size 1: who keeps the others' information, and who
// follows the outlier as the z-score does.
#include <gmock/gmock.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <numeric>
#include <span>

#include "special_floats.hpp"
#include "yolk/fitness.hpp"
#include "yolk/internal/core/philox.hpp"
#include "yolk/internal/testing/device_test.hpp"

namespace yolk {
namespace {

using ::testing::Each;

constexpr float kOutlier = 1e4F;
constexpr double kU = 0x1p-24;

struct ShapedValues {
    std::vector<double> weights;  ///< one per pair, int8 or fp32
    abi::fitness::Summary summary{};
};

class fitness_heavy_tails : public testing::DeviceTest {
   protected:
    [[nodiscard]] Result<Buffer> buffer(std::uint64_t bytes, const char* label) const {
        return device().create_buffer({.size_bytes = bytes, .label = label});
    }

    template <class T>
    Result<void> read_weights(const Buffer& from, ShapedValues& shaped) const {
        std::vector<T> weights(from.size_bytes() / sizeof(T));
        YOLK_TRY_VOID(dispatcher().download(from, std::as_writable_bytes(std::span(weights))));
        std::ranges::transform(weights, std::back_inserter(shaped.weights),
                               [](T weight) { return static_cast<double>(weight); });
        return {};
    }

    /// One episode per member. Populations are multiples of 8, so that the int8 weights have no padding.
    Result<ShapedValues> shape(const std::vector<float>& scores, FitnessRule rule, bool robust = false) const {
        const FitnessDesc desc{
            .population = static_cast<std::uint32_t>(scores.size()), .rule = rule, .robust = robust, .config = {}};
        YOLK_TRY(const FitnessPlan plan, plan_fitness(device(), desc));
        YOLK_TRY(const Buffer returns, buffer(4 * scores.size(), "returns"));
        YOLK_TRY(const Buffer kept, buffer(4 * scores.size(), "scores"));
        YOLK_TRY(const Buffer weights, buffer(fitness_weights_bytes(desc), "weights"));
        YOLK_TRY(const Buffer summary, buffer(sizeof(abi::fitness::Summary), "summary"));
        YOLK_TRY(const Buffer scratch, buffer(plan.scratch().size_bytes, "scratch"));
        YOLK_TRY_VOID(dispatcher().upload(returns, std::as_bytes(std::span(scores))));
        YOLK_TRY(const BoundFitness bound,
                 plan.bind({.returns = returns, .scores = kept, .weights = weights, .summary = summary}, scratch));
        YOLK_TRY(Recorder recorder, Recorder::create(device()));
        recorder.begin();
        bound.record(recorder);
        YOLK_TRY_VOID(dispatcher().run(recorder));
        ShapedValues shaped;
        YOLK_TRY_VOID(is_integer_rule(rule) ? read_weights<std::int8_t>(weights, shaped)
                                            : read_weights<float>(weights, shaped));
        YOLK_TRY_VOID(dispatcher().download(summary, std::as_writable_bytes(std::span(&shaped.summary, 1))));
        return shaped;
    }
};
YOLK_FOR_EACH_DEVICE(fitness_heavy_tails);

/// N scores in an order drawn from Philox: the grid (2k + 1)/N - 1, whose differences are exact, spread over (-2, 2)
/// and linear in the ranks. The outlier takes the place of the highest, so that no rank changes.
struct Generation {
    std::vector<float> scores;
    std::size_t outlier = 0;  ///< its member

    [[nodiscard]] std::size_t pairs() const { return scores.size() / 2; }
    [[nodiscard]] double difference(std::size_t pair) const {
        return static_cast<double>(scores[2 * pair]) - static_cast<double>(scores[2 * pair + 1]);
    }
    /// Of the pairs without the outlier.
    [[nodiscard]] std::vector<double> other_differences() const {
        std::vector<double> all;
        for (std::size_t pair = 0; pair < pairs(); ++pair)
            if (pair != outlier / 2) all.push_back(difference(pair));
        return all;
    }
    [[nodiscard]] std::vector<double> others_of(const std::vector<double>& weights) const {
        std::vector<double> others = weights;
        others.erase(others.begin() + static_cast<std::ptrdiff_t>(outlier / 2));
        return others;
    }
};

/// A power of two of pairs.
Generation generation_of(std::uint32_t pairs, bool with_outlier = true) {
    std::vector<std::uint32_t> order(std::size_t{2} * pairs);
    std::iota(order.begin(), order.end(), 0U);
    std::ranges::sort(order, {}, [](std::uint32_t member) { return philox4x32({member, 0, 0, 0}, {8, 2}); });
    Generation generation;
    for (const std::uint32_t k : order)
        generation.scores.push_back(static_cast<float>(2 * k + 1) / static_cast<float>(order.size()) - 1.0F);
    const auto highest = std::ranges::max_element(generation.scores);
    generation.outlier = static_cast<std::size_t>(highest - generation.scores.begin());
    if (with_outlier) *highest = kOutlier;
    return generation;
}

double mean_of(const std::vector<double>& values) {
    return std::accumulate(values.begin(), values.end(), 0.0) / static_cast<double>(values.size());
}

double correlation(const std::vector<double>& x, const std::vector<double>& y) {
    const double mean_x = mean_of(x);
    const double mean_y = mean_of(y);
    double xy = 0.0;
    double xx = 0.0;
    double yy = 0.0;
    for (std::size_t i = 0; i < x.size(); ++i) {
        xy += (x[i] - mean_x) * (y[i] - mean_y);
        xx += (x[i] - mean_x) * (x[i] - mean_x);
        yy += (y[i] - mean_y) * (y[i] - mean_y);
    }
    return xy / std::sqrt(xx * yy);
}

double deviation_of(const std::vector<double>& values) {
    const double mean = mean_of(values);
    double squares = 0.0;
    for (const double value : values) squares += (value - mean) * (value - mean);
    return std::sqrt(squares / static_cast<double>(values.size()));
}

std::size_t distinct_nonzero(std::vector<double> weights) {
    std::erase(weights, 0.0);
    std::ranges::sort(weights);
    return static_cast<std::size_t>(std::unique(weights.begin(), weights.end()) - weights.begin());
}

/// As many of the differences as lie more than `apart` from each other, and from 0.
std::size_t distinguishable(std::vector<double> differences, double apart) {
    std::ranges::sort(differences);
    std::size_t count = 0;
    double last = -std::numeric_limits<double>::infinity();
    for (const double difference : differences) {
        if (difference - last <= apart || std::abs(difference) <= apart) continue;
        last = difference;
        ++count;
    }
    return count;
}

/// Holds q_i = a d_i + e_i, |e_i| <= 1/2 (one rounding and no clipping), of the pairs without the outlier, where
/// a = 127 / scale:
///  - Differences more than 1/a apart get different weights, so there are at least as many weights as such differences.
///  - With ~ for "less its mean" and n pairs, the vector q~ is at most |e~| <= |e| <= sqrt(n)/2 from a d~. So the sine
///    of the angle between them is at most sqrt(n)/2 / |a d~| = 1 / (2 a deviation(d)), and the correlation, which is
///    the cosine, at least sqrt(1 - sine^2).
void expect_information_kept(const Generation& generation, const ShapedValues& shaped, double scale) {
    const std::vector<double> differences = generation.other_differences();
    const std::vector<double> weights = generation.others_of(shaped.weights);
    for (const double difference : differences) ASSERT_LE(std::abs(difference), scale) << "the bounds hold unclipped";
    const double slope = 127.0 / scale;
    const std::size_t distinct = distinguishable(differences, 1.0 / slope);
    EXPECT_GE(distinct_nonzero(weights), distinct);
    EXPECT_GE(distinct, differences.size() < 40 ? 12U : 40U) << "else the bound above says little";
    const double sine = 1.0 / (2.0 * slope * deviation_of(differences));
    EXPECT_LT(sine, 0.05);
    EXPECT_GE(correlation(weights, differences), std::sqrt(1.0 - sine * sine));
}

constexpr std::array<std::uint32_t, 2> kPairs{32, 2048};

TEST_P(fitness_heavy_tails, robust_differences_keep_what_the_others_say) {
    for (const std::uint32_t pairs : kPairs) {
        const Generation generation = generation_of(pairs);
        ASSERT_OK_AND_ASSIGN(const ShapedValues shaped, shape(generation.scores, FitnessRule::PairDifference, true));
        std::vector<double> magnitudes;
        for (std::size_t pair = 0; pair < pairs; ++pair) magnitudes.push_back(std::abs(generation.difference(pair)));
        std::ranges::sort(magnitudes);
        ASSERT_GT(magnitudes.front(), 0.0);
        expect_information_kept(generation, shaped, 6.0 * magnitudes[(pairs - 1) / 2]);
        EXPECT_EQ(std::abs(shaped.weights[generation.outlier / 2]), 127.0) << "clipped, not dropped";
    }
}

TEST_P(fitness_heavy_tails, ranks_do_not_see_how_far_the_outlier_is) {
    for (const std::uint32_t pairs : kPairs) {
        const Generation generation = generation_of(pairs);
        const Generation tame = generation_of(pairs, false);
        ASSERT_OK_AND_ASSIGN(const ShapedValues shaped, shape(generation.scores, FitnessRule::CentredRank));
        ASSERT_OK_AND_ASSIGN(const ShapedValues as_tame, shape(tame.scores, FitnessRule::CentredRank));
        EXPECT_EQ(shaped.weights, as_tame.weights);
        EXPECT_EQ(shaped.summary.coefficient, as_tame.summary.coefficient);
        // On the grid a rank is N/2 scores, so the largest difference of ranks is N/2 times that of the tame scores.
        double largest = 0.0;
        for (std::size_t pair = 0; pair < pairs; ++pair) largest = std::max(largest, std::abs(tame.difference(pair)));
        expect_information_kept(generation, shaped, largest);
    }
}

/// What the z-score gives a pair, in double from the definition: z+ - z-.
std::vector<double> z_differences(const Generation& generation) {
    const double deviation = deviation_of(std::vector<double>(generation.scores.begin(), generation.scores.end()));
    std::vector<double> all;
    for (std::size_t pair = 0; pair < generation.pairs(); ++pair)
        all.push_back(generation.difference(pair) / std::sqrt(deviation * deviation + 1e-5));
    return all;
}

/// Relative error that c and the fp32 z-score may carry. The outlier's exponent is E = 13, scores are quantized to
/// 2^(E-24) = 2^-11, each at most 2^-12 off, so their deviation (a norm) is at most 2^-12 off. Then fp32, u = 2^-24:
/// the variance 5.1 u and the sum with epsilon 1.1 u, halved by the root; exact_sqrt 1e-7 < 1.7 u, exact_reciprocal
/// 1.3e-7 < 2.2 u, at most 3 products or constants and 2 roundings of differences: 12 u, and 16 u leave room for what
/// is of second order (a few deviation errors squared, below 1e-11).
double relative_bound(const Generation& generation) {
    const std::vector<double> scores(generation.scores.begin(), generation.scores.end());
    return 0x1p-12 / deviation_of(scores) + 16.0 * kU;
}

// With q_i = 127 d_i / D + e, |e| <= 1/2, and c = (D/127) / sqrt(var + eps): c q_i = z_i + c e, up to the relative
// bounds.
TEST_P(fitness_heavy_tails, the_default_is_the_z_score_up_to_half_a_step) {
    for (const std::uint32_t pairs : kPairs) {
        const Generation generation = generation_of(pairs);
        ASSERT_OK_AND_ASSIGN(const ShapedValues integer, shape(generation.scores, FitnessRule::PairDifference));
        ASSERT_OK_AND_ASSIGN(const ShapedValues floating, shape(generation.scores, FitnessRule::ZScore));
        const std::vector<double> z = z_differences(generation);
        const double relative = relative_bound(generation);
        const auto c = static_cast<double>(integer.summary.coefficient);
        for (std::size_t pair = 0; pair < pairs; ++pair) {
            const double off = relative * std::abs(z[pair]);
            EXPECT_LE(std::abs(c * integer.weights[pair] - z[pair]), 0.5 * c * (1.0 + relative) + off) << pair;
            EXPECT_LE(std::abs(floating.weights[pair] - z[pair]), off) << pair;
        }
        // It follows the outlier: 127 there without rounding, and nothing elsewhere (127 * 2 / 10^4 is below one half).
        const std::size_t outlier = generation.outlier / 2;
        EXPECT_EQ(std::abs(integer.weights[outlier]), 127.0);
        EXPECT_LE(std::abs(c * integer.weights[outlier] - z[outlier]), relative * std::abs(z[outlier]));
        EXPECT_THAT(generation.others_of(integer.weights), Each(0.0));
    }
}

// +inf must not become the best, nor NaN slip through a comparison: in whichever order they come, the generation is
// shaped as if they had the worst finite score.
TEST_P(fitness_heavy_tails, members_that_are_not_finite_count_as_the_worst) {
    std::array<float, 3> kinds{kInfinity, -kInfinity, std::numeric_limits<float>::quiet_NaN()};
    for (const std::uint32_t pairs : kPairs) {
        for (std::size_t turn = 0; turn < kinds.size(); ++turn) {
            std::rotate(kinds.begin(), kinds.begin() + 1, kinds.end());
            Generation generation = generation_of(pairs);
            const float worst = std::ranges::min(generation.scores);
            std::vector<std::size_t> members;  // none in the outlier's pair, two of them in one pair
            for (const std::size_t pair : {3U, 3U, 20U})
                members.push_back(2 * (pair == generation.outlier / 2 ? pair + 1 : pair) + members.size() % 2);
            std::vector<float> replaced = generation.scores;
            for (std::size_t i = 0; i < members.size(); ++i) {
                ASSERT_NE(generation.scores[members[i]], worst) << "the worst finite score must stay";
                generation.scores[members[i]] = kinds[i];
                replaced[members[i]] = worst;
            }
            for (const auto& [rule, robust] :
                 {std::pair{FitnessRule::PairDifference, false}, std::pair{FitnessRule::PairDifference, true},
                  std::pair{FitnessRule::CentredRank, false}, std::pair{FitnessRule::ZScore, false}}) {
                ASSERT_OK_AND_ASSIGN(const ShapedValues shaped, shape(generation.scores, rule, robust));
                ASSERT_OK_AND_ASSIGN(const ShapedValues as_worst, shape(replaced, rule, robust));
                EXPECT_EQ(shaped.weights, as_worst.weights) << to_string(rule);
                EXPECT_EQ(shaped.summary.coefficient, as_worst.summary.coefficient);
                EXPECT_EQ(shaped.summary.variance, as_worst.summary.variance);
                EXPECT_EQ(shaped.summary.best, kOutlier);
                EXPECT_EQ(shaped.summary.worst, worst);
                EXPECT_EQ(shaped.summary.not_finite_count, 3U);
                EXPECT_EQ(shaped.summary.first_not_finite, members[0]);
                EXPECT_EQ(shaped.summary.finite_count, 2 * pairs - 3);
                EXPECT_EQ(as_worst.summary.not_finite_count, 0U);
            }
        }
    }
}

}  // namespace
}  // namespace yolk
