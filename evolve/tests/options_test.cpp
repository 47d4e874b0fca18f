// SPDX-License-Identifier: Apache-2.0
#include "yolk/internal/evolve/options.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <string>
#include <utility>
#include <vector>

#include "yolk/internal/evolve/settings.hpp"
#include "yolk/internal/testing/device_test.hpp"

namespace yolk::evolve {
namespace {

constexpr float kNotANumber = std::numeric_limits<float>::quiet_NaN();
constexpr float kInfinity = std::numeric_limits<float>::infinity();

template <class Change>
Result<void> validate_with(Change change) {
    EvolutionOptions options;
    change(options);
    return validate(options);
}
#define EXPECT_REFUSED(part, ...)                                                                       \
    EXPECT_TRUE(::yolk::testing::expect_error(validate_with([&](EvolutionOptions& o) { __VA_ARGS__; }), \
                                              ErrorKind::BadInput, part))
#define EXPECT_ALLOWED(...) EXPECT_OK(validate_with([&](EvolutionOptions& o) { __VA_ARGS__; }))

TEST(options, defaults_are_allowed) { EXPECT_OK(validate({})); }

TEST(options, population_is_even_and_in_range) {
    for (const std::uint32_t bad : {0U, 1U, 3U, 4095U, (1U << 20U) + 2U, 0xFFFFFFFFU})
        EXPECT_REFUSED("population", o.population = bad);
    for (const std::uint32_t good : {2U, 4U, 4096U, 1U << 20U}) EXPECT_ALLOWED(o.population = good);
}
TEST(options, population_may_be_odd_where_members_do_not_come_in_pairs) {
    const auto alone = [](EvolutionOptions& o) {
        o.antithetic = false;
        o.fitness = FitnessRule::CentredRank;
    };
    for (const std::uint32_t bad : {0U, 1U, (1U << 20U) + 1U})
        EXPECT_REFUSED("from 2 to", alone(o); o.population = bad);
    for (const std::uint32_t good : {2U, 3U, 4095U, 1U << 20U}) EXPECT_ALLOWED(alone(o); o.population = good);
}
TEST(options, pair_rules_need_antithetic_sampling) {
    for (const FitnessRule rule : {FitnessRule::PairDifference, FitnessRule::PairSign})
        EXPECT_REFUSED("no pairs", o.antithetic = false; o.fitness = rule);
    EXPECT_ALLOWED(o.antithetic = false; o.fitness = FitnessRule::ZScore; o.determinism = Determinism::Fast);
}
TEST(options, rank_is_in_range) {
    for (const std::uint32_t bad : {0U, 33U, 0xFFFFFFFFU}) EXPECT_REFUSED("rank", o.rank = bad);
    for (const std::uint32_t good : {1U, 4U, 32U}) EXPECT_ALLOWED(o.rank = good);
}
TEST(options, sigma_and_learning_rate_are_finite_and_positive) {
    for (const float bad :
         {0.0F, -0.0F, -0.1F, kNotANumber, kInfinity, -kInfinity, std::numeric_limits<float>::denorm_min(), 0x1p-41F}) {
        EXPECT_REFUSED("Sigma", o.sigma = bad);
        EXPECT_REFUSED("learning rate", o.learning_rate = bad);
    }
    EXPECT_ALLOWED(o.sigma = 0x1p-40F);
    EXPECT_ALLOWED(o.sigma = 1e30F);
    EXPECT_ALLOWED(o.learning_rate = 0x1p-40F);
}
TEST(options, decays_are_above_0_and_at_most_1) {
    for (const float bad : {0.0F, -0.5F, 1.0000001F, 2.0F, kNotANumber, kInfinity, -kInfinity}) {
        EXPECT_REFUSED("decay of sigma", o.sigma_decay = bad);
        EXPECT_REFUSED("decay of the learning rate", o.learning_rate_decay = bad);
    }
    for (const float good : {1.0F, 0.999F, 1e-3F}) EXPECT_ALLOWED(o.sigma_decay = good; o.learning_rate_decay = good);
}
TEST(options, betas_are_at_least_0_and_below_1) {
    for (const float bad : {-0.1F, 1.0F, 2.0F, kNotANumber, kInfinity}) {
        EXPECT_REFUSED("Beta 1", o.beta1 = bad);
        EXPECT_REFUSED("Beta 2", o.beta2 = bad);
    }
    EXPECT_ALLOWED(o.beta1 = 0.0F; o.beta2 = 0.0F);
}
TEST(options, noise_reuse_is_at_least_1) {
    EXPECT_REFUSED("noise reuse", o.noise_reuse = 0);
    EXPECT_ALLOWED(o.noise_reuse = 0xFFFFFFFFU);
}
TEST(options, episodes_fit_a_buffer) {
    EXPECT_REFUSED("episodes", o.episodes = 0);
    EXPECT_REFUSED("episodes", o.episodes = (1U << 20U) + 1U);
    EXPECT_REFUSED("returns", o.population = 1U << 20U; o.episodes = 33);
    EXPECT_ALLOWED(o.population = 1U << 20U; o.episodes = 32);
}
TEST(options, robust_belongs_to_pair_differences) {
    for (const FitnessRule rule :
         {FitnessRule::PairSign, FitnessRule::CentredRank, FitnessRule::ZScore, FitnessRule::GroupZScore}) {
        EXPECT_REFUSED("robust", o.robust = true; o.fitness = rule; o.determinism = Determinism::Fast);
    }
    EXPECT_ALLOWED(o.robust = true);
}
TEST(options, group_size_belongs_to_its_rule_and_divides) {
    for (const FitnessRule rule :
         {FitnessRule::PairDifference, FitnessRule::PairSign, FitnessRule::CentredRank, FitnessRule::ZScore}) {
        EXPECT_REFUSED("group size", o.group_size = 8; o.fitness = rule; o.determinism = Determinism::Fast);
    }
    const auto grouped = [](EvolutionOptions& o) {
        o.population = 96;
        o.fitness = FitnessRule::GroupZScore;
        o.determinism = Determinism::Fast;
    };
    for (const std::uint32_t bad : {0U, 1U, 5U, 97U, 192U})
        EXPECT_REFUSED("group size", grouped(o); o.group_size = bad);
    for (const std::uint32_t good : {2U, 3U, 32U, 96U}) EXPECT_ALLOWED(grouped(o); o.group_size = good);
}
TEST(options, exact_mode_refuses_float_rules_and_says_what_to_do) {
    EXPECT_REFUSED("fast determinism", o.fitness = FitnessRule::ZScore);
    EXPECT_REFUSED("pair-difference", o.fitness = FitnessRule::GroupZScore; o.group_size = 2);
    EXPECT_ALLOWED(o.fitness = FitnessRule::ZScore; o.determinism = Determinism::Fast);
    EXPECT_ALLOWED(o.fitness = FitnessRule::PairSign);
    EXPECT_ALLOWED(o.fitness = FitnessRule::CentredRank);
}

TEST(decay, is_repeated_multiplication) {
    float value = 0.2F;
    for (std::uint32_t g = 0; g < 200; ++g) {
        EXPECT_EQ(decayed(0.2F, 0.99F, g), value) << g;
        value = decay_once(value, 0.99F);
    }
    EXPECT_LT(value, 0.2F * 0.2F);
}
TEST(decay, of_1_changes_nothing) { EXPECT_EQ(decayed(0.3F, 1.0F, 0xFFFFFFFFU), 0.3F); }
TEST(decay, never_becomes_denormal) {
    for (std::uint32_t g = 0; g < 400; ++g) {
        const float value = decayed(1.0F, 0.5F, g);
        EXPECT_TRUE(value == 0.0F || std::isnormal(value)) << g;
        EXPECT_EQ(value == 0.0F, g > 40) << g;
    }
}
// The decay nearest to 1 still lowers every value: a run of any length ends at zero, and so does the loop.
TEST(decay, nearest_to_1_still_decays) {
    for (const float value : {1.0F, 1.5F, std::nextafter(2.0F, 0.0F), 0x1p-39F}) {
        EXPECT_LT(decay_once(value, std::nextafter(1.0F, 0.0F)), value);
    }
    EXPECT_EQ(decayed(0x1p-39F, std::nextafter(1.0F, 0.0F), 0xFFFFFFFFU), 0.0F);
}

/// Whatever is written, what is left out is the kind's own.
TEST(options, one_setting_moves_no_other) {
    const SystemEvolutionOptions fewer{.population = 64};
    EXPECT_EQ(fewer.sigma, kSystemDefaults.sigma);
    EXPECT_EQ(fewer.learning_rate, kSystemDefaults.learning_rate);
    const EvolutionOptions policy{.sigma = 1.0F};
    EXPECT_EQ(policy.population, kPolicyDefaults.population);
    EXPECT_EQ(policy.learning_rate, kPolicyDefaults.learning_rate);
}

TEST(options, kinds_convert_setting_by_setting) {
    const SystemEvolutionOptions all{.population = 2,
                                     .antithetic = false,
                                     .rank = 3,
                                     .sigma = 4.0F,
                                     .learning_rate = 5.0F,
                                     .sigma_decay = 0.6F,
                                     .learning_rate_decay = 0.7F,
                                     .noise_reuse = 8,
                                     .fitness = FitnessRule::GroupZScore,
                                     .robust = true,
                                     .group_size = 9,
                                     .optimizer = OptimizerRule::Adam,
                                     .beta1 = 0.1F,
                                     .beta2 = 0.2F,
                                     .seed = 11,
                                     .freeze_vectors = true,
                                     .freeze = {"a"},
                                     .episodes = 12,
                                     .determinism = Determinism::Fast};
    const auto before = settings_of(EvolutionOptions{});
    const auto after = settings_of(all);
    std::size_t changed = 0;
    for (const auto& [name, value] : before) {
        const auto at = std::ranges::find(after, name, &std::pair<std::string, std::string>::first);
        ASSERT_NE(at, after.end());
        EXPECT_NE(at->second, value) << name;
        ++changed;
    }
    EXPECT_EQ(changed, before.size());
    EXPECT_EQ(after.size(), before.size() + 1) << "antithetic shows where it is off";
    EXPECT_EQ(settings_of(SystemEvolutionOptions(EvolutionOptions(all))), after);
}

}  // namespace
}  // namespace yolk::evolve
