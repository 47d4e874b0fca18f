// SPDX-License-Identifier: Apache-2.0
// fitness beyond its check table: weights by hand, outliers, order, large populations, bad input.
#include "yolk/fitness.hpp"

#include <gmock/gmock.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <limits>
#include <string_view>

#include "yolk/internal/core/philox.hpp"
#include "yolk/internal/testing/device_test.hpp"
#include "yolk/twin.hpp"

namespace yolk {
namespace {

using ::testing::Each;
using ::testing::ElementsAre;
using testing::expect_error;

struct ShapedBytes {
    std::vector<std::int8_t> weights;  ///< with the padding
    abi::fitness::Summary summary{};
    friend bool operator==(const ShapedBytes& a, const ShapedBytes& b) {
        using Words = std::array<std::uint32_t, sizeof(abi::fitness::Summary) / 4>;
        return a.weights == b.weights && std::bit_cast<Words>(a.summary) == std::bit_cast<Words>(b.summary);
    }
};

class fitness : public testing::DeviceTest {
   protected:
    /// Shapes with an integer rule, one episode per member; `runs` recordings one behind the other.
    Result<ShapedBytes> shape(const FitnessDesc& desc, const std::vector<float>& scores, int runs = 1) const {
        return shape_on(device(), dispatcher(), desc, scores, runs);
    }

    static Result<ShapedBytes> shape_on(const Device& device, Dispatcher& dispatcher, FitnessDesc desc,
                                        const std::vector<float>& scores, int runs = 1) {
        desc.population = static_cast<std::uint32_t>(scores.size());
        YOLK_TRY(const FitnessPlan plan, plan_fitness(device, desc));
        ShapedBytes shaped;
        shaped.weights.resize(fitness_weights_bytes(desc));
        YOLK_TRY(const Buffer returns, device.create_buffer({.size_bytes = 4 * scores.size(), .label = "returns"}));
        YOLK_TRY(const Buffer kept, device.create_buffer({.size_bytes = 4 * scores.size(), .label = "scores"}));
        YOLK_TRY(const Buffer weights, device.create_buffer({.size_bytes = shaped.weights.size(), .label = "weights"}));
        YOLK_TRY(const Buffer summary,
                 device.create_buffer({.size_bytes = sizeof(shaped.summary), .label = "summary"}));
        YOLK_TRY(const Buffer scratch,
                 device.create_buffer({.size_bytes = plan.scratch().size_bytes, .label = "scratch"}));
        YOLK_TRY_VOID(dispatcher.upload(returns, std::as_bytes(std::span(scores))));
        const FitnessViews views{.returns = returns, .scores = kept, .weights = weights, .summary = summary};
        YOLK_TRY(const BoundFitness bound, plan.bind(views, scratch));
        YOLK_TRY(Recorder recorder, Recorder::create(device));
        recorder.begin();
        for (int run = 0; run < runs; ++run) {
            bound.record(recorder);
            recorder.barrier(Barrier::ComputeToCompute);
        }
        YOLK_TRY_VOID(dispatcher.run(recorder));
        YOLK_TRY_VOID(dispatcher.download(weights, std::as_writable_bytes(std::span(shaped.weights))));
        YOLK_TRY_VOID(dispatcher.download(summary, std::as_writable_bytes(std::span(&shaped.summary, 1))));
        return shaped;
    }
};
YOLK_FOR_EACH_DEVICE(fitness);

/// Reproducible scores, uniform in [-1, 1).
std::vector<float> drawn_scores(std::uint32_t count) {
    std::vector<float> scores(count);
    for (std::uint32_t i = 0; i < count; ++i)
        scores[i] = std::ldexp(static_cast<float>(philox4x32({i, 0, 0, 0}, {1, 2})[0] >> 8U), -23) - 1.0F;
    return scores;
}

ShapedBytes twin_of(FitnessDesc desc, const std::vector<float>& scores) {
    desc.population = static_cast<std::uint32_t>(scores.size());
    ShapedBytes twin{.weights = std::vector<std::int8_t>(fitness_weights_bytes(desc)), .summary = {}};
    reference::twin_of(desc, {scores, {}, twin.weights, twin.summary});
    return twin;
}

TEST_P(fitness, pair_differences_by_hand) {
    ASSERT_OK_AND_ASSIGN(const ShapedBytes shaped, shape({.config = {}}, {3, 1, 2, 2, 0, 4}));
    EXPECT_THAT(shaped.weights, ElementsAre(64, 0, -127, 0));  // 63.5 goes to the even neighbour
    EXPECT_EQ(shaped.summary.mean, 2.0F);
    EXPECT_EQ(shaped.summary.best, 4.0F);
    EXPECT_EQ(shaped.summary.worst, 0.0F);
    EXPECT_NEAR(shaped.summary.variance, 10.0 / 6.0, 1e-6);
    EXPECT_NEAR(shaped.summary.coefficient, 4.0 / 127.0 / std::sqrt(10.0 / 6.0 + 1e-5), 1e-8);
    EXPECT_EQ(shaped.summary.finite_count, 6U);
}

TEST_P(fitness, ties_of_the_quantization_go_to_even) {
    // 127 d / 254 = d / 2.
    ASSERT_OK_AND_ASSIGN(const ShapedBytes shaped, shape({.config = {}}, {254, 0, 1, 0, 0, 3, 5, 0, 0, 251}));
    EXPECT_THAT(shaped.weights, ElementsAre(127, 0, -2, 2, -126, 0, 0, 0));
}

TEST_P(fitness, signs_and_ranks_have_unit_root_mean_square_over_the_members) {
    ASSERT_OK_AND_ASSIGN(const ShapedBytes signs,
                         shape({.rule = FitnessRule::PairSign, .config = {}}, {3, 1, 2, 2, 0, 4, 9, 1}));
    EXPECT_THAT(signs.weights, ElementsAre(1, 0, -1, 1));
    // Members are +-c/2 or, in the tied pair, 0: 6 (c/2)^2 / 8 = 1.
    EXPECT_NEAR(signs.summary.coefficient, 2.0 * std::sqrt(8.0 / 6.0), 1e-6);
    // Ranks of {5, 7, 7, 9}: 0, 1.5, 1.5, 3; centred -1.5, 0, 0, 1.5, root mean square 1.5 / sqrt(2).
    ASSERT_OK_AND_ASSIGN(const ShapedBytes ranks,
                         shape({.rule = FitnessRule::CentredRank, .config = {}}, {5, 7, 7, 9}));
    EXPECT_THAT(ranks.weights, ElementsAre(-127, -127, 0, 0));
    EXPECT_NEAR(ranks.summary.coefficient * 127.0F, 1.5 / (1.5 / std::sqrt(2.0)), 1e-6);
}

TEST_P(fitness, an_outlier_leads_the_default_and_not_the_robust_form) {
    const std::vector<float> scores{1e9F, 0, 1, 0, 0, 2, 3, 0, 0, 1};
    ASSERT_OK_AND_ASSIGN(const ShapedBytes plain, shape({.config = {}}, scores));
    EXPECT_THAT(plain.weights, ElementsAre(127, 0, 0, 0, 0, 0, 0, 0));
    ASSERT_OK_AND_ASSIGN(const ShapedBytes robust, shape({.robust = true, .config = {}}, scores));
    // The lower median of 1, 1, 2, 3, 1e9 is 2; 127 becomes 12.
    EXPECT_THAT(robust.weights, ElementsAre(127, 11, -21, 32, -11, 0, 0, 0));
}

TEST_P(fitness, a_member_without_a_finite_score_counts_as_the_worst) {
    const float nan = std::numeric_limits<float>::quiet_NaN();
    ASSERT_OK_AND_ASSIGN(const ShapedBytes shaped, shape({.config = {}}, {1, 5, nan, 5, 3, INFINITY, -2, 5}));
    ASSERT_OK_AND_ASSIGN(const ShapedBytes replaced, shape({.config = {}}, {1, 5, -2, 5, 3, -2, -2, 5}));
    EXPECT_EQ(shaped.weights, replaced.weights);
    EXPECT_EQ(shaped.summary.coefficient, replaced.summary.coefficient);
    EXPECT_EQ(shaped.summary.not_finite_count, 2U);
    EXPECT_EQ(shaped.summary.first_not_finite, 2U);
    EXPECT_EQ(shaped.summary.finite_count, 6U);
    ASSERT_OK_AND_ASSIGN(const ShapedBytes none, shape({.config = {}}, {nan, nan, INFINITY, -INFINITY}));
    EXPECT_THAT(none.weights, Each(0));
    EXPECT_EQ(none.summary.finite_count, 0U);
    EXPECT_TRUE(std::isfinite(none.summary.coefficient));
}

TEST_P(fitness, differences_below_two_to_the_minus_100_of_the_largest_score_are_ties) {
    const std::vector<float> scores{0x1p60F, 0x1p60F, 0x1p-39F, 0, 0, 0x1p-41F, 0x1.8p-40F, 0x1.8p-40F};
    ASSERT_OK_AND_ASSIGN(const ShapedBytes shaped, shape({.rule = FitnessRule::PairSign, .config = {}}, scores));
    EXPECT_THAT(shaped.weights, ElementsAre(0, 1, 0, 0));
}

TEST_P(fitness, statistics_do_not_depend_on_the_order_or_the_configuration) {
    std::vector<float> scores = drawn_scores(1022);
    for (std::size_t i = 0; i < scores.size(); i += 3) scores[i] *= 1e-4F;
    ASSERT_OK_AND_ASSIGN(const ShapedBytes first,
                         shape({.robust = true, .config = FitnessConfig{.workgroup_size = 64}}, scores));
    ASSERT_OK_AND_ASSIGN(const ShapedBytes other,
                         shape({.robust = true, .config = FitnessConfig{.workgroup_size = 16}}, scores));
    EXPECT_EQ(first, other);
    for (const std::uint32_t workgroup_size : {64U, 256U}) {
        ASSERT_OK_AND_ASSIGN(
            const ShapedBytes by_group,
            shape({.robust = true, .config = FitnessConfig{.workgroup_size = workgroup_size, .by_group = 1}}, scores));
        EXPECT_EQ(first, by_group);
    }
    for (std::size_t pair = 0; pair < scores.size() / 4; ++pair) {  // whole pairs, back to front
        std::swap(scores[2 * pair], scores[scores.size() - 2 - 2 * pair]);
        std::swap(scores[2 * pair + 1], scores[scores.size() - 1 - 2 * pair]);
    }
    ASSERT_OK_AND_ASSIGN(ShapedBytes reversed, shape({.robust = true, .config = {}}, scores));
    std::reverse(reversed.weights.begin(), reversed.weights.begin() + 511);
    EXPECT_EQ(first, reversed);
}

TEST_P(fitness, a_second_recording_starts_afresh) {
    const std::vector<float> scores = drawn_scores(90);
    for (const FitnessRule rule : {FitnessRule::PairDifference, FitnessRule::PairSign, FitnessRule::CentredRank}) {
        ASSERT_OK_AND_ASSIGN(const ShapedBytes twice, shape({.rule = rule, .config = {}}, scores, 2));
        EXPECT_EQ(twice, twin_of({.rule = rule, .config = {}}, scores)) << to_string(rule);
    }
}

TEST_P(fitness, a_million_members_keep_the_bits_of_the_twin) {
    std::vector<float> scores = drawn_scores(1U << 20U);
    for (float& score : scores)
        score = 1.0F + score * 0.999F;  // one sign, so that the sums become as large as they can
    for (const bool robust : {false, true}) {
        ASSERT_OK_AND_ASSIGN(const ShapedBytes shaped, shape({.robust = robust, .config = {}}, scores));
        EXPECT_TRUE(shaped == twin_of({.robust = robust, .config = {}}, scores));
    }
}

/// Scores by kind: what a sort may get wrong.
std::vector<float> scores_of_kind(std::string_view kind, std::uint32_t count) {
    std::vector<float> scores(count);
    for (std::uint32_t i = 0; i < count; ++i) {
        const std::uint32_t drawn = philox4x32({i, 0, 0, 0}, {3, 4})[0];
        if (kind == "equal") scores[i] = -3.25F;
        if (kind == "ascending") scores[i] = static_cast<float>(i) - 300.0F;
        if (kind == "descending") scores[i] = 300.0F - static_cast<float>(i);
        if (kind == "many ties") scores[i] = static_cast<float>(drawn % 7) - 3.0F;
        // Every digit of the keys counts; some NaNs, infinities and denormals.
        if (kind == "any bits") scores[i] = std::bit_cast<float>(drawn);
        if (kind == "not finite") scores[i] = i % 5 == 0 ? std::ldexp(1.0F, static_cast<int>(drawn % 9)) : INFINITY;
        if (kind == "none finite") scores[i] = drawn % 2 == 0 ? INFINITY : std::numeric_limits<float>::quiet_NaN();
    }
    return scores;
}
constexpr std::array<const char*, 7> kKindsOfScores{"equal",    "ascending",  "descending", "many ties",
                                                    "any bits", "not finite", "none finite"};

TEST_P(fitness, ranks_keep_the_bits_of_the_twin_around_every_edge_of_a_tile) {
    // Counted up to 512; then tiles of 32 up to 1,024, of 64 up to 4,096, of 128 from there on.
    for (const std::uint32_t population : {510U, 512U, 514U, 542U, 544U, 546U, 1022U, 1024U, 1026U, 1086U, 1088U, 1090U,
                                           4094U, 4096U, 4098U, 4222U, 4224U, 4226U}) {
        for (const char* kind : kKindsOfScores) {
            const std::vector<float> scores = scores_of_kind(kind, population);
            const FitnessDesc desc{.rule = FitnessRule::CentredRank, .config = {}};
            ASSERT_OK_AND_ASSIGN(const ShapedBytes shaped, shape(desc, scores));
            EXPECT_TRUE(shaped == twin_of(desc, scores)) << population << ", " << kind;
        }
    }
}

TEST_P(fitness, workgroups_keep_the_bits_of_the_twin_around_every_edge_of_a_tile) {
    // Tiles of 256, which workgroups of 64 take in pieces; of 1,024 past 2^18. Few, for barriers take SwiftShader long.
    for (const std::uint32_t population : {574U, 768U, 770U, 262146U}) {
        for (const char* kind : {"many ties", "any bits"}) {
            if (population > 1024 && kind != std::string_view("any bits")) continue;
            const std::vector<float> scores = scores_of_kind(kind, population);
            const FitnessDesc plain{.rule = FitnessRule::CentredRank, .config = {}};
            const ShapedBytes twin = twin_of(plain, scores);
            for (const std::uint32_t workgroup_size : {64U, 256U}) {
                FitnessDesc desc = plain;
                desc.config = FitnessConfig{.workgroup_size = workgroup_size, .by_group = 1};
                ASSERT_OK_AND_ASSIGN(const ShapedBytes shaped, shape(desc, scores));
                EXPECT_TRUE(shaped == twin) << population << ", " << kind << ", " << workgroup_size;
            }
        }
    }
}

TEST_P(fitness, ranks_of_large_populations_keep_the_bits_of_the_twin) {
    for (const std::uint32_t population : {32768U, 32770U, 65536U, 65538U}) {
        for (const char* kind : {"equal", "descending", "many ties", "any bits"}) {
            const std::vector<float> scores = scores_of_kind(kind, population);
            const FitnessDesc desc{.rule = FitnessRule::CentredRank, .config = FitnessConfig{.workgroup_size = 256}};
            ASSERT_OK_AND_ASSIGN(const ShapedBytes shaped, shape(desc, scores));
            EXPECT_TRUE(shaped == twin_of(desc, scores)) << population << ", " << kind;
        }
    }
}

TEST_P(fitness, ranks_of_a_million_members_keep_the_bits_of_the_twin) {
    const FitnessDesc desc{.rule = FitnessRule::CentredRank, .config = {}};
    // Equal scores bring all counts together in one; the largest sum of squares comes from distinct ones.
    for (const char* kind : {"equal", "descending", "any bits"}) {
        const std::vector<float> scores = scores_of_kind(kind, 1U << 20U);
        ASSERT_OK_AND_ASSIGN(const ShapedBytes shaped, shape(desc, scores));
        EXPECT_TRUE(shaped == twin_of(desc, scores)) << kind;
    }
}

TEST_P(fitness, sorted_ranks_do_not_depend_on_the_configuration_nor_on_earlier_scratch) {
    const std::vector<float> scores = scores_of_kind("any bits", 1030);
    for (const std::uint32_t workgroup_size : {1U, 16U, 64U, 256U}) {
        const FitnessDesc desc{.rule = FitnessRule::CentredRank,
                               .config = FitnessConfig{.workgroup_size = workgroup_size}};
        ASSERT_OK_AND_ASSIGN(const ShapedBytes shaped, shape(desc, scores, 2));
        EXPECT_TRUE(shaped == twin_of(desc, scores)) << workgroup_size;
    }
}

TEST_P(fitness, sorted_ranks_do_not_depend_on_where_long_work_is_cut) {
    ASSERT_OK_AND_ASSIGN(const Device impatient, Device::create(testing::instance(), device().info().index,
                                                                {.pipeline_cache_folder = testing::kernels_folder(),
                                                                 .max_submission_cost = 1}));
    ASSERT_OK_AND_ASSIGN(Dispatcher its_dispatcher, Dispatcher::create(impatient));
    const std::vector<float> scores = scores_of_kind("any bits", 1030);
    const FitnessDesc desc{.rule = FitnessRule::CentredRank, .config = FitnessConfig{.workgroup_size = 4}};
    const std::uint64_t before = impatient.counts().submissions;
    ASSERT_OK_AND_ASSIGN(const ShapedBytes shaped, shape_on(impatient, its_dispatcher, desc, scores));
    EXPECT_TRUE(shaped == twin_of(desc, scores));
    EXPECT_GT(impatient.counts().submissions - before, 2U * 4U * 5U);  // 17 tiles, 4 at a time, twice per digit
    const FitnessDesc by_group{.rule = FitnessRule::CentredRank,
                               .config = FitnessConfig{.workgroup_size = 64, .by_group = 1}};
    ASSERT_OK_AND_ASSIGN(const ShapedBytes in_groups, shape_on(impatient, its_dispatcher, by_group, scores));
    EXPECT_TRUE(in_groups == shaped);
}

TEST_P(fitness, refuses_bad_descriptions) {
    const FitnessDesc good{.population = 12, .config = {}};
    const auto refused = [&](const FitnessDesc& desc, ErrorKind kind, std::string_view part) {
        return expect_error(plan_fitness(device(), desc), kind, part);
    };
    for (const std::uint32_t population : {0U, 1U, 13U, (1U << 20U) + 2U}) {
        FitnessDesc desc = good;
        desc.population = population;
        EXPECT_TRUE(refused(desc, ErrorKind::BadInput, "population"));
    }
    FitnessDesc desc = good;
    desc.episodes = 0;
    EXPECT_TRUE(refused(desc, ErrorKind::BadInput, "episodes"));
    desc = good;
    desc.config = FitnessConfig{.workgroup_size = 32, .by_group = 1};
    EXPECT_TRUE(refused(desc, ErrorKind::BadInput, "needs at least 64"));
    desc.config = FitnessConfig{.workgroup_size = 300};
    EXPECT_TRUE(refused(desc, ErrorKind::BadInput, "workgroup_size"));
    desc = good;
    desc.rule = FitnessRule::PairSign;
    desc.robust = true;
    EXPECT_TRUE(refused(desc, ErrorKind::BadInput, "robust"));
    desc = good;
    desc.rule = FitnessRule::GroupZScore;
    for (const std::uint32_t group_size : {0U, 1U, 5U, 13U}) {
        desc.group_size = group_size;
        EXPECT_TRUE(refused(desc, ErrorKind::BadInput, "group_size"));
    }
    for (const FitnessRule rule : {FitnessRule::PairDifference, FitnessRule::PairSign}) {
        desc = {.population = 13, .rule = rule, .antithetic = false};
        EXPECT_TRUE(refused(desc, ErrorKind::BadInput, "no pairs"));
    }
    desc.rule = FitnessRule::CentredRank;
    EXPECT_OK(plan_fitness(device(), desc));
}

TEST_P(fitness, members_of_their_own_are_weighed_one_by_one) {
    const FitnessDesc desc{.rule = FitnessRule::CentredRank, .antithetic = false};
    ASSERT_OK_AND_ASSIGN(const ShapedBytes shaped, shape(desc, {5.0F, -1.0F, 9.0F, 2.0F, 3.0F}));
    EXPECT_THAT(shaped.weights, ElementsAre(64, -127, 127, -64, 0, 0, 0, 0));  // ranks 3, 0, 4, 1, 2; 63.5 to even
    EXPECT_NEAR(127.0F * shaped.summary.coefficient, std::sqrt(2.0F), 1e-6F);  // 2 / sqrt(mean of 4 1 0 1 4)
    const std::vector<float> many = drawn_scores(1001);                        // sorted
    ASSERT_OK_AND_ASSIGN(const ShapedBytes sorted, shape(desc, many));
    EXPECT_TRUE(sorted == twin_of(desc, many));
    ASSERT_OK_AND_ASSIGN(const ShapedBytes equal, shape(desc, std::vector<float>(7, 1e30F)));
    EXPECT_THAT(equal.weights, ::testing::Each(0));
}

TEST_P(fitness, refuses_wrong_views) {
    const FitnessDesc desc{.population = 8, .config = {}};
    ASSERT_OK_AND_ASSIGN(const FitnessPlan plan, plan_fitness(device(), desc));
    ASSERT_OK_AND_ASSIGN(const Buffer buffer, device().create_buffer({.size_bytes = 16384, .label = "views"}));
    const BufferView scratch{buffer, 4096, 8192};
    const FitnessViews good{.returns = {buffer, 0, 32},
                            .scores = {buffer, 256, 32},
                            .weights = {buffer, 512, 4},
                            .summary = {buffer, 768, 32}};
    EXPECT_OK(plan.bind(good, scratch));
    FitnessViews views = good;
    views.returns.size_bytes = 28;
    EXPECT_TRUE(expect_error(plan.bind(views, scratch), ErrorKind::BadInput, "returns"));
    views = good;
    views.scores = good.returns;
    EXPECT_TRUE(expect_error(plan.bind(views, scratch), ErrorKind::BadInput, "shares bytes"));
    views = good;
    views.summary.offset_bytes = 770;
    EXPECT_TRUE(expect_error(plan.bind(views, scratch), ErrorKind::BadInput, "summary"));
    EXPECT_TRUE(expect_error(plan.bind(good, {}), ErrorKind::BadInput, "scratch"));
}

TEST(fitness_rule, names_are_read_back) {
    for (const FitnessRule rule : {FitnessRule::PairDifference, FitnessRule::PairSign, FitnessRule::CentredRank,
                                   FitnessRule::ZScore, FitnessRule::GroupZScore}) {
        ASSERT_OK_AND_ASSIGN(const FitnessRule read, parse_fitness_rule(to_string(rule)));
        EXPECT_EQ(read, rule);
    }
    EXPECT_TRUE(expect_error(parse_fitness_rule("rank"), ErrorKind::BadInput, "rank"));
}

}  // namespace
}  // namespace yolk
