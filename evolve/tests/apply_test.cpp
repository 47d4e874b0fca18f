// SPDX-License-Identifier: Apache-2.0
// Generations that are applied from what their scores came to, instead of being scored again.
#include <gtest/gtest.h>

#include <algorithm>
#include <limits>

#include "fixtures.hpp"
#include "yolk/internal/evolve/update_twin.hpp"
#include "yolk/internal/testing/device_test.hpp"

namespace yolk::evolve {
namespace {

using ::yolk::testing::expect_error;

constexpr std::uint32_t kApplied = 34;  // 17 weights: not whole words

class apply : public ::yolk::testing::DeviceTest {
   protected:
    /// With an evaluator where there are scores.
    [[nodiscard]] Result<Evolution> create(const EvolutionOptions& options, const std::vector<float>& scores,
                                           bool keep_weights = true) const {
        EvolutionParts parts;
        YOLK_TRY(parts.parameters, trained_parameters(layered_table(2), options));
        parts.initial.assign(parts.parameters.element_count(), 0.25F);
        if (!scores.empty()) {
            YOLK_TRY(parts.evaluator, PreparedScores::create(device(), dispatcher(), scores));
        }
        parts.digest = true;
        parts.keep_weights = keep_weights;
        return Evolution::create(device(), dispatcher(), std::move(parts), options);
    }
};
YOLK_FOR_EACH_DEVICE(apply);

TEST_P(apply, repeats_every_rule_to_the_bit) {
    for (const FitnessRule rule : {FitnessRule::PairDifference, FitnessRule::PairSign, FitnessRule::CentredRank,
                                   FitnessRule::ZScore, FitnessRule::GroupZScore}) {
        SCOPED_TRACE(to_string(rule));
        EvolutionOptions options{.population = kApplied, .rank = 2, .sigma_decay = 0.9F, .fitness = rule};
        options.optimizer = OptimizerRule::Adam;
        options.group_size = rule == FitnessRule::GroupZScore ? 17 : 0;
        if (!is_integer_rule(rule)) options.determinism = Determinism::Fast;
        ASSERT_OK_AND_ASSIGN(Evolution scored, create(options, drawn_scores(kApplied)));
        ASSERT_OK_AND_ASSIGN(Evolution applied, create(options, {}));
        for (int generation = 0; generation < 3; ++generation) {
            ASSERT_OK_AND_ASSIGN(const GenerationSummary made, scored.step());
            ASSERT_OK_AND_ASSIGN(const ShapedGeneration shaped, scored.shaped());
            ASSERT_OK_AND_ASSIGN(const GenerationSummary again, applied.apply(shaped));
            EXPECT_EQ(again.mean, made.mean);
            EXPECT_EQ(again.evaluations, 0U);
            ASSERT_OK_AND_ASSIGN(const ShapedGeneration kept, applied.shaped());
            EXPECT_EQ(kept, shaped);
            ASSERT_OK_AND_ASSIGN(const std::string hash, scored.state_hash());
            ASSERT_OK_AND_ASSIGN(const std::string applied_hash, applied.state_hash());
            EXPECT_EQ(applied_hash, hash);
            ASSERT_OK_AND_ASSIGN(const std::string digest, scored.state_digest());
            ASSERT_OK_AND_ASSIGN(const std::string applied_digest, applied.state_digest());
            EXPECT_EQ(applied_digest, digest);
        }
    }
}

TEST_P(apply, takes_a_gradient_in_place_of_the_weights) {
    const EvolutionOptions options{.population = kApplied, .learning_rate = 0.5F};
    ASSERT_OK_AND_ASSIGN(Evolution run, create(options, {}));
    ShapedGeneration shaped{.integer_weights = std::vector<std::int8_t>(kApplied / 2, 3)};
    shaped.summary.finite_count = kApplied;
    const std::vector<float> gradient(run.table().element_count(), 0.5F);
    ASSERT_OK(run.apply(shaped, gradient));
    for (const float value : run.parameters()) EXPECT_EQ(value, 0.25F + 0.5F * 0.5F);
}

// The twin's update without a device: by the weights, and along a gradient of the caller's.
TEST_P(apply, has_the_bits_of_the_twins_update) {
    const EvolutionOptions options{.population = kApplied, .rank = 2, .optimizer = OptimizerRule::Adam};
    ASSERT_OK_AND_ASSIGN(Evolution scored, create(options, drawn_scores(kApplied)));
    ASSERT_OK_AND_ASSIGN(Evolution applied, create(options, {}));
    EvolutionState by_weights{.parameters = std::vector<float>(scored.table().element_count(), 0.25F)};
    EvolutionState by_gradient = by_weights;
    for (int generation = 0; generation < 3; ++generation) {
        ASSERT_OK(scored.step());
        ASSERT_OK_AND_ASSIGN(const ShapedGeneration shaped, scored.shaped());
        std::vector<float> gradient = gradient_by_twin(by_weights.generation, scored.table(), options, shaped);
        by_weights = updated_by_twin(by_weights, scored.table(), options, shaped);
        EXPECT_TRUE(std::ranges::equal(by_weights.parameters, scored.parameters()));
        for (float& value : gradient) value = 0.125F - 3.0F * value;
        ASSERT_OK(applied.apply(shaped, gradient));
        by_gradient = updated_by_twin(by_gradient, scored.table(), options, shaped, gradient);
        EXPECT_TRUE(std::ranges::equal(by_gradient.parameters, applied.parameters()));
        EXPECT_TRUE(std::ranges::equal(by_gradient.optimizer, applied.optimizer_state()));
    }
}

TEST_P(apply, refuses_what_is_not_of_this_run) {
    const EvolutionOptions options{.population = kApplied};
    ASSERT_OK_AND_ASSIGN(Evolution run, create(options, {}, false));
    ShapedGeneration shaped{.integer_weights = std::vector<std::int8_t>(16, 1)};
    shaped.summary.finite_count = kApplied;
    EXPECT_TRUE(expect_error(run.apply(shaped), ErrorKind::BadInput,
                             "There are 16 int8 and 0 fp32 weights; this run has 17 int8"));
    shaped.integer_weights.push_back(1);
    EXPECT_TRUE(expect_error(run.apply(shaped, std::vector<float>(3)), ErrorKind::BadInput, "3 values of a gradient"));
    std::vector<float> gradient(run.table().element_count(), 0.0F);
    gradient[5] = std::numeric_limits<float>::infinity();
    EXPECT_TRUE(expect_error(run.apply(shaped, gradient), ErrorKind::BadInput, "Element 5"));
    EXPECT_TRUE(expect_error(run.step(), ErrorKind::BadInput, "no evaluator"));
    EXPECT_TRUE(expect_error(run.shaped(), ErrorKind::BadInput, "keep_weights"));
    ASSERT_OK_AND_ASSIGN(const Evolution fresh, create(options, {}));
    EXPECT_TRUE(expect_error(fresh.shaped(), ErrorKind::BadInput, "before the first generation"));
}

TEST_P(apply, without_a_finite_score_changes_nothing) {
    ASSERT_OK_AND_ASSIGN(Evolution run, create({.population = kApplied}, {}));
    const std::vector<float> before(run.parameters().begin(), run.parameters().end());
    const ShapedGeneration none{.integer_weights = std::vector<std::int8_t>(kApplied / 2, 0)};
    ASSERT_OK_AND_ASSIGN(const GenerationSummary summary, run.apply(none));
    EXPECT_FALSE(summary.has_finite);
    EXPECT_EQ(run.generations(), 1U);
    EXPECT_TRUE(std::ranges::equal(run.parameters(), before));
}

}  // namespace
}  // namespace yolk::evolve
