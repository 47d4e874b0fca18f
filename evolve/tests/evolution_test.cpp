// SPDX-License-Identifier: Apache-2.0
#include "yolk/evolution.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <optional>

#include "fixtures.hpp"
#include "yolk/internal/runtime/probe.hpp"
#include "yolk/internal/testing/device_test.hpp"

namespace yolk::evolve {
namespace {

using ::yolk::testing::expect_error;

constexpr std::uint32_t kPopulation = 32;
constexpr float kNan = std::numeric_limits<float>::quiet_NaN();

class evolution : public ::yolk::testing::DeviceTest {
   protected:
    struct Setup {
        std::uint32_t layers = 2;
        std::vector<float> scores = drawn_scores(kPopulation);
        EvolutionOptions options{.population = kPopulation};
        std::optional<std::vector<ElementRange>> host_elements{};
    };
    [[nodiscard]] Result<Evolution> create(const Setup& setup) const {
        return create_on(device(), dispatcher(), setup);
    }
    [[nodiscard]] static Result<Evolution> create_on(const Device& device, Dispatcher& dispatcher, const Setup& setup) {
        EvolutionParts parts;
        YOLK_TRY(parts.parameters, trained_parameters(layered_table(setup.layers), setup.options));
        parts.initial.assign(parts.parameters.element_count(),
                             0.0F);  // so that after one step of SGD the parameters are lr * G
        YOLK_TRY(parts.evaluator, PreparedScores::create(device, dispatcher, setup.scores));
        parts.host_elements = setup.host_elements;
        return Evolution::create(device, dispatcher, std::move(parts), setup.options);
    }
    /// Parameters after `steps` generations; empty after a failure, which is then shown.
    [[nodiscard]] std::vector<float> after(const Setup& setup, int steps = 1) const {
        Result<Evolution> made = create(setup);
        EXPECT_OK(made);
        for (int i = 0; made && i < steps; ++i) EXPECT_OK(made->step());
        if (!made) return {};
        return {made->parameters().begin(), made->parameters().end()};
    }
};
YOLK_FOR_EACH_DEVICE(evolution);

std::vector<float> times(std::vector<float> values, float factor) {
    for (float& value : values) value *= factor;
    return values;
}
double cosine(const std::vector<float>& a, const std::vector<float>& b) {
    double ab = 0.0, aa = 0.0, bb = 0.0;
    for (std::size_t i = 0; i < a.size(); ++i) {
        ab += double{a[i]} * b[i];
        aa += double{a[i]} * a[i];
        bb += double{b[i]} * b[i];
    }
    return ab / std::sqrt(aa * bb);
}
bool all_zero(std::span<const float> values) {
    return std::all_of(values.begin(), values.end(), [](float v) { return v == 0.0F; });
}

TEST_P(evolution, same_seed_same_result_and_another_seed_another) {
    Setup setup;
    const std::vector<float> first = after(setup, 2);
    EXPECT_FALSE(all_zero(first));
    EXPECT_EQ(after(setup, 2), first);
    setup.options.seed = 2;
    EXPECT_NE(after(setup, 2), first);
}
TEST_P(evolution, update_scales_with_the_learning_rate) {
    Setup setup;
    setup.options.learning_rate = 0.25F;
    const std::vector<float> once = after(setup);
    setup.options.learning_rate = 0.5F;
    EXPECT_EQ(after(setup), times(once, 2.0F));  // powers of two: exact
}
// The z-score makes an update forget the unit of the scores, up to its epsilon: 1e-5 beside variances of 1/12 and
// 1024/12, so below 1.2e-4.
TEST_P(evolution, update_forgets_the_unit_of_the_scores) {
    Setup setup;
    const std::vector<float> small = after(setup);
    setup.scores = times(setup.scores, 32.0F);
    const std::vector<float> large = after(setup);
    for (std::size_t i = 0; i < small.size(); ++i) EXPECT_NEAR(large[i], small[i], 1.2e-4F * std::abs(small[i])) << i;
}
TEST_P(evolution, constant_scores_change_nothing) {
    Setup setup;
    setup.scores.assign(kPopulation, 7.5F);
    EXPECT_TRUE(all_zero(after(setup)));
}
TEST_P(evolution, equal_scores_within_pairs_change_nothing) {
    Setup setup;
    for (std::uint32_t member = 1; member < kPopulation; member += 2) setup.scores[member] = setup.scores[member - 1];
    EXPECT_TRUE(all_zero(after(setup)));
}
TEST_P(evolution, frozen_parameters_stay) {
    Setup setup;
    setup.options.freeze = {"w1"};
    setup.options.freeze_vectors = true;
    for (const OptimizerRule rule : {OptimizerRule::Sgd, OptimizerRule::Momentum, OptimizerRule::Adam}) {
        setup.options.optimizer = rule;
        const std::vector<float> values = after(setup, 2);
        const std::span<const float> all = values;
        EXPECT_FALSE(all_zero(all.subspan(0, 30)));  // w0
        EXPECT_TRUE(all_zero(all.subspan(30)));      // b0, w1, b1
    }
}
// SGD from zero: after one step lr * G(0), after two lr * (G(0) + G(1)). Equal noise and equal scores give equal G, and
// x + x is exact.
TEST_P(evolution, noise_reuse_repeats_the_noise) {
    Setup setup;
    setup.options.noise_reuse = 2;
    const std::vector<float> once = after(setup, 1);
    EXPECT_EQ(after(setup, 2), times(once, 2.0F));
    EXPECT_NE(after(setup, 3), times(once, 3.0F));
    setup.options.noise_reuse = 1;
    EXPECT_NE(after(setup, 2), times(once, 2.0F));
}
TEST_P(evolution, decays_reach_the_device) {
    Setup setup;
    setup.options.noise_reuse = 2;
    setup.options.learning_rate_decay = 0.5F;
    const std::vector<float> once = after(setup, 1);
    const std::vector<float> twice = after(setup, 2);
    for (std::size_t i = 0; i < once.size(); ++i)
        EXPECT_NEAR(twice[i], 1.5F * once[i], 0x1p-22F * std::abs(once[i])) << i;
}
TEST_P(evolution, summary_tells_of_the_scores) {
    Setup setup;
    setup.scores.assign(kPopulation, 1.0F);
    setup.scores[4] = 3.0F;
    setup.scores[9] = -1.0F;
    setup.options.sigma_decay = 0.5F;
    ASSERT_OK_AND_ASSIGN(Evolution run, create(setup));
    ASSERT_OK(run.step());
    ASSERT_OK_AND_ASSIGN(const GenerationSummary summary, run.step());
    EXPECT_EQ(summary.generation, 1U);
    EXPECT_EQ(run.generations(), 2U);
    EXPECT_EQ(summary.mean, 1.0F);
    EXPECT_EQ(summary.best, 3.0F);
    EXPECT_EQ(summary.worst, -1.0F);
    EXPECT_EQ(summary.variance, 0.25F);  // (2^2 + 2^2) / 32
    EXPECT_EQ(summary.not_finite, 0U);
    EXPECT_EQ(summary.evaluations, 3U * kEvaluationCounters);
    EXPECT_EQ(summary.sigma, 0.1F);
    EXPECT_FALSE(summary.policy_mean.has_value());
    EXPECT_EQ(*run.scores(), setup.scores);
}
TEST_P(evolution, members_that_are_not_finite_are_counted_and_named_once) {
    Setup setup;
    setup.scores[5] = kNan;
    setup.scores[8] = -std::numeric_limits<float>::infinity();
    ASSERT_OK_AND_ASSIGN(Evolution run, create(setup));
    ::testing::internal::CaptureStderr();
    for (int i = 0; i < 2; ++i) {
        const Result<GenerationSummary> summary = run.step();
        EXPECT_OK(summary);
        if (!summary) break;
        EXPECT_EQ(summary->not_finite, 2U);
        EXPECT_EQ(summary->first_not_finite, 5U);
        EXPECT_TRUE(std::isfinite(summary->mean));
    }
    const std::string log = ::testing::internal::GetCapturedStderr();
    const std::size_t named = log.find("member 5");
    EXPECT_NE(named, std::string::npos) << log;
    EXPECT_EQ(log.find("member 5", named + 1), std::string::npos) << log;
    EXPECT_OK(run.state_hash());
}
TEST_P(evolution, generation_without_a_finite_score_is_an_error) {
    Setup setup;
    setup.scores.assign(kPopulation, kNan);
    ASSERT_OK_AND_ASSIGN(Evolution run, create(setup));
    EXPECT_TRUE(expect_error(run.step(), ErrorKind::Failed, "no member has a finite score"));
}
TEST_P(evolution, useless_rank_is_legal_with_one_notice) {
    Setup setup;
    setup.options.rank = 6;
    ::testing::internal::CaptureStderr();
    const std::vector<float> values = after(setup, 2);
    const std::string log = ::testing::internal::GetCapturedStderr();
    EXPECT_FALSE(all_zero(values));
    const std::size_t noted = log.find("Rank 6");
    EXPECT_NE(noted, std::string::npos) << log;
    EXPECT_EQ(log.find("Rank 6", noted + 1), std::string::npos) << log;
}
TEST_P(evolution, exact_mode_is_refused_where_arithmetic_is_not_exact) {
    ASSERT_OK_AND_ASSIGN(const DeviceFindings findings, probe(device()));
    DeviceFindings inexact = findings;
    inexact.inexact_reason = "Products are contracted.";
    device().set_findings(inexact);
    Setup setup;
    const Result<Evolution> exact = create(setup);
    setup.options.determinism = Determinism::Fast;
    const Result<Evolution> fast = create(setup);
    device().set_findings(findings);
    EXPECT_TRUE(expect_error(exact, ErrorKind::Unsupported, "Products are contracted."));
    EXPECT_OK(fast);
}
TEST_P(evolution, parts_that_do_not_fit_are_refused) {
    Setup setup;
    setup.options.population = 64;  // the evaluator scores 32
    EXPECT_TRUE(expect_error(create(setup), ErrorKind::BadInput, "32 members"));
    setup.options.population = 31;
    EXPECT_TRUE(expect_error(create(setup), ErrorKind::BadInput, "even"));
    EvolutionParts parts;
    parts.parameters = layered_table(1);
    EXPECT_TRUE(expect_error(Evolution::create(device(), dispatcher(), std::move(parts), {}), ErrorKind::BadInput,
                             "initial values"));
}
TEST_P(evolution, optimizers_keep_their_state) {
    Setup setup;
    for (const auto& [rule, arrays] :
         {std::pair{OptimizerRule::Sgd, 0U}, {OptimizerRule::Momentum, 1U}, {OptimizerRule::Adam, 2U}}) {
        setup.options.optimizer = rule;
        ASSERT_OK_AND_ASSIGN(Evolution run, create(setup));
        ASSERT_EQ(run.optimizer_state().size(), arrays * run.parameters().size());
        EXPECT_TRUE(all_zero(run.optimizer_state()));
        ASSERT_OK(run.step());
        EXPECT_EQ(all_zero(run.optimizer_state()), arrays == 0);
    }
}
// int8 rounds a weight by at most 1/254 of the largest, in the root mean square by that over sqrt(3): about .5% of
// weights whose root mean square is near .45 of the largest (differences of uniform scores). A relative error e costs
// the cosine e^2/2, some 1e-5.
TEST_P(evolution, default_rule_equals_the_z_score_up_to_rounding) {
    Setup setup;
    const std::vector<float> integers = after(setup);
    setup.options.determinism = Determinism::Fast;
    setup.options.fitness = FitnessRule::ZScore;
    const std::vector<float> floats = after(setup);
    EXPECT_GT(cosine(integers, floats), 0.9998);
}
TEST_P(evolution, dispatches_do_not_grow_with_the_parameters) {
    std::vector<std::uint64_t> dispatches;
    for (const std::uint32_t layers : {4U, 64U}) {
        ASSERT_OK_AND_ASSIGN(Evolution run, create({.layers = layers}));
        ASSERT_OK(run.step());
        const OperationCounts before = device().counts();
        ASSERT_OK(run.step());
        dispatches.push_back(device().counts().dispatches - before.dispatches);
    }
    EXPECT_GE(dispatches[0], 3U);
    EXPECT_EQ(dispatches[0], dispatches[1]);
}
TEST_P(evolution, steady_state_is_one_submission_and_makes_nothing) {
    ASSERT_OK_AND_ASSIGN(Evolution run, create({}));
    ASSERT_OK(run.step());
    const OperationCounts before = device().counts();
    for (int i = 0; i < 5; ++i) ASSERT_OK(run.step());
    const OperationCounts after_steps = device().counts();
    EXPECT_EQ(after_steps.submissions - before.submissions, 5U);
    EXPECT_EQ(after_steps.pipelines_created, before.pipelines_created);
    EXPECT_EQ(after_steps.buffers_created, before.buffers_created);
    EXPECT_EQ(after_steps.memory_blocks, before.memory_blocks);
    EXPECT_EQ(after_steps.bytes_uploaded, before.bytes_uploaded);
}
TEST_P(evolution, discrete_memory_gives_the_same_bits) {
    const Setup setup{.options = {.population = kPopulation, .optimizer = OptimizerRule::Adam}};
    ASSERT_OK_AND_ASSIGN(Evolution here, create(setup));
    ASSERT_OK_AND_ASSIGN(Evolution there, create_on(discrete_device(), discrete_dispatcher(), setup));
    for (int i = 0; i < 2; ++i) {
        ASSERT_OK(here.step());
        ASSERT_OK(there.step());
    }
    EXPECT_EQ(*here.state_hash(), *there.state_hash());
}
TEST_P(evolution, scores_of_the_host_do_what_prepared_ones_do) {
    const Setup setup{.options = {.population = kPopulation, .optimizer = OptimizerRule::Adam}};
    for (const bool discrete : {false, true}) {
        const Device& on = discrete ? discrete_device() : device();
        Dispatcher& by = discrete ? discrete_dispatcher() : dispatcher();
        ASSERT_OK_AND_ASSIGN(Evolution prepared, create_on(on, by, setup));
        EvolutionParts parts{.parameters = layered_table(2), .initial = std::vector<float>(72, 0.0F)};
        ASSERT_OK_AND_ASSIGN(auto evaluator, host_scores_evaluator(on, kPopulation));
        const std::span<float> returns = evaluator->returns();
        parts.evaluator = std::move(evaluator);
        ASSERT_OK_AND_ASSIGN(Evolution run, Evolution::create(on, by, std::move(parts), setup.options));
        for (int i = 0; i < 2; ++i) {
            std::ranges::copy(setup.scores, returns.begin());
            ASSERT_OK(run.step());
            ASSERT_OK(prepared.step());
        }
        EXPECT_EQ(*run.state_hash(), *prepared.state_hash());
        std::ranges::fill(returns, 1.0F);  // and the next step sees what is written then
        const std::vector<float> before(run.parameters().begin(), run.parameters().end());
        ASSERT_OK_AND_ASSIGN(const GenerationSummary summary, run.step());
        EXPECT_EQ(summary.variance, 0.0F);
        EXPECT_EQ(summary.evaluations, 0U);
    }
    EXPECT_TRUE(expect_error(host_scores_evaluator(device(), 0), ErrorKind::BadInput, "at least one"));
    EXPECT_TRUE(expect_error(host_scores_evaluator(device(), 0xFFFFFFFFU, 0xFFFFFFFFU), ErrorKind::BadInput, "bytes"));
}
TEST_P(evolution, parameters_can_be_set_between_steps) {
    ASSERT_OK_AND_ASSIGN(Evolution run, create({}));
    ASSERT_OK(run.step());
    std::vector<float> values(run.parameters().begin(), run.parameters().end());
    const std::vector<float> first = values;
    for (float& value : values) value = std::min(value, 0.01F);
    ASSERT_OK(run.set_parameters(values));
    EXPECT_TRUE(std::ranges::equal(run.parameters(), values));
    ASSERT_OK(run.step());
    EvolutionParts parts{.parameters = layered_table(2), .initial = values, .generation = 1};
    ASSERT_OK_AND_ASSIGN(parts.evaluator, PreparedScores::create(device(), dispatcher(), Setup{}.scores));
    ASSERT_OK_AND_ASSIGN(Evolution resumed,
                         Evolution::create(device(), dispatcher(), std::move(parts), Setup{}.options));
    ASSERT_OK(resumed.step());
    EXPECT_EQ(*run.state_hash(), *resumed.state_hash());
    values.pop_back();
    EXPECT_TRUE(expect_error(run.set_parameters(values), ErrorKind::BadInput, "71 values"));
    values.push_back(kNan);
    EXPECT_TRUE(expect_error(run.set_parameters(values), ErrorKind::BadInput, "finite"));
}
TEST_P(evolution, brings_those_elements_to_the_host_that_were_asked_for) {
    Setup setup;
    setup.options.optimizer = OptimizerRule::Momentum;
    ASSERT_OK_AND_ASSIGN(Evolution all, create(setup));
    setup.host_elements = {{.first = 3, .count = 2}, {.first = 70, .count = 2}};
    ASSERT_OK_AND_ASSIGN(Evolution some, create(setup));
    for (Evolution* run : {&all, &some}) ASSERT_OK(run->step());
    for (std::size_t i = 0; i < 72; ++i) {
        const bool asked = (i >= 3 && i < 5) || i >= 70;
        EXPECT_EQ(some.parameters()[i], asked ? all.parameters()[i] : 0.0F) << i;
    }
    EXPECT_TRUE(all_zero(some.optimizer_state()));
    ASSERT_OK(some.refresh());
    EXPECT_EQ(*some.state_hash(), *all.state_hash());
    setup.host_elements = {{.first = 70, .count = 3}};
    EXPECT_TRUE(expect_error(create(setup), ErrorKind::BadInput, "there are 72 parameter elements"));
}
TEST_P(evolution, elements_that_were_set_are_there_for_the_next_step_in_its_submission) {
    Setup setup;
    ASSERT_OK_AND_ASSIGN(Evolution whole, create(setup));
    setup.host_elements = {{.first = 0, .count = 1}};
    ASSERT_OK_AND_ASSIGN(Evolution few, create(setup));
    for (Evolution* run : {&whole, &few}) ASSERT_OK(run->step());
    std::vector<float> values(whole.parameters().begin(), whole.parameters().end());
    values[0] = -0.5F;
    values[11] = 0.25F;
    values[12] = 0.125F;
    ASSERT_OK(whole.set_parameters(values));
    const std::uint64_t before = device().counts().submissions;
    ASSERT_OK(few.set_elements(0, std::span(values).first(1)));
    ASSERT_OK(few.set_elements(11, std::span(values).subspan(11, 2)));
    ASSERT_OK(few.step());
    EXPECT_EQ(device().counts().submissions, before + 1);
    EXPECT_NE(few.parameters()[0], 0.0F);
    ASSERT_OK(whole.step());
    ASSERT_OK(few.refresh());
    EXPECT_EQ(*few.state_hash(), *whole.state_hash());
    ASSERT_OK(few.step());  // they are set once
    ASSERT_OK(whole.step());
    ASSERT_OK(few.refresh());
    EXPECT_EQ(*few.state_hash(), *whole.state_hash());
    EXPECT_TRUE(expect_error(few.set_elements(71, std::span(values).first(2)), ErrorKind::BadInput, "72 elements"));
    EXPECT_TRUE(expect_error(few.set_elements(0, std::span(&kNan, 1)), ErrorKind::BadInput, "finite"));
}
TEST_P(evolution, policy_evaluator_runs_after_the_update_in_the_same_submission) {
    const Setup setup;
    EvolutionParts parts{.parameters = layered_table(2), .initial = std::vector<float>(72, 0.0F)};
    ASSERT_OK_AND_ASSIGN(parts.evaluator, PreparedScores::create(device(), dispatcher(), setup.scores));
    ASSERT_OK_AND_ASSIGN(parts.policy_evaluator, PreparedScores::create(device(), dispatcher(), {12.5F}));
    ASSERT_OK_AND_ASSIGN(Evolution run, Evolution::create(device(), dispatcher(), std::move(parts), setup.options));
    const std::uint64_t before = device().counts().submissions;
    ASSERT_OK_AND_ASSIGN(const GenerationSummary summary, run.step());
    EXPECT_EQ(device().counts().submissions, before + 1);
    EXPECT_EQ(summary.policy_mean, 12.5F);
    EXPECT_EQ(summary.evaluations, 3U * kEvaluationCounters);  // the population's alone
}

}  // namespace
}  // namespace yolk::evolve
