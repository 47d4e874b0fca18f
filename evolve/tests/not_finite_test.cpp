// SPDX-License-Identifier: Apache-2.0
// Generations that are not finite among those that are: nothing of them is left in parameters and moments.
#include <gmock/gmock.h>

#include <cmath>
#include <limits>

#include "fixtures.hpp"
#include "yolk/evolution.hpp"
#include "yolk/internal/testing/device_test.hpp"

namespace yolk::evolve {
namespace {

using ::testing::HasSubstr;
using ::yolk::testing::expect_error;

constexpr std::uint32_t kFiniteMembers = 32;
constexpr float kNoScore = std::numeric_limits<float>::quiet_NaN();
constexpr float kEndless = std::numeric_limits<float>::infinity();
constexpr OptimizerRule kAllRules[] = {OptimizerRule::Sgd, OptimizerRule::Momentum, OptimizerRule::Adam};

bool are_all_finite(std::span<const float> values) {
    return std::ranges::all_of(values, [](float value) { return std::isfinite(value); });
}

/// Scores of each generation, from the host; given to a run on the device and to its twin alike.
using Scores = std::function<std::vector<float>(std::uint32_t generation)>;

class not_finite : public ::yolk::testing::DeviceTest {
   protected:
    struct Runs {
        std::optional<Evolution> device;
        std::span<float> returns;
        std::optional<Evolution> twin;
        Scores scores;

        Result<GenerationSummary> step() {
            std::ranges::copy(scores(device->generations()), returns.begin());
            return device->step();
        }
    };
    [[nodiscard]] Result<Runs> create(const EvolutionOptions& options, const Scores& scores) const {
        Runs runs;
        runs.scores = scores;
        EvolutionParts parts;
        YOLK_TRY(parts.parameters, trained_parameters(layered_table(2), options));
        parts.initial.assign(parts.parameters.element_count(), 0.25F);
        YOLK_TRY(std::unique_ptr<HostScoresEvaluator> evaluator, host_scores_evaluator(device(), options.population));
        runs.returns = evaluator->returns();
        parts.evaluator = std::move(evaluator);
        PoolParts of_twin{.parameters = parts.parameters, .initial = parts.initial};
        of_twin.members = [scores](const Device*, Dispatcher*) {
            return Result(host_members([scores](const HostQuestion& question, std::span<float> returns) {
                std::ranges::copy(scores(question.when.generation), returns.begin());
                return Result<std::uint64_t>(question.members.count);
            }));
        };
        YOLK_TRY(runs.device, Evolution::create(device(), dispatcher(), std::move(parts), options));
        YOLK_TRY(runs.twin, Evolution::create(Devices::none(), std::move(of_twin), options));
        return runs;
    }
};
YOLK_FOR_EACH_DEVICE(not_finite);

TEST_P(not_finite, a_generation_without_a_finite_score_poisons_nothing) {
    for (const OptimizerRule rule : kAllRules) {
        for (const FitnessRule fitness :
             {FitnessRule::PairDifference, FitnessRule::PairSign, FitnessRule::CentredRank}) {
            const Scores scores = [](std::uint32_t generation) {
                if (generation == 2) return std::vector<float>(kFiniteMembers, kNoScore);
                if (generation == 3) return std::vector<float>(kFiniteMembers, -kEndless);
                return drawn_scores(kFiniteMembers, generation + 1);
            };
            ASSERT_OK_AND_ASSIGN(Runs runs,
                                 create({.population = kFiniteMembers, .fitness = fitness, .optimizer = rule}, scores));
            std::string before;
            for (std::uint32_t generation = 0; generation < 6; ++generation) {
                ASSERT_OK_AND_ASSIGN(const GenerationSummary summary, runs.step());
                ASSERT_OK_AND_ASSIGN(const GenerationSummary by_twin, runs.twin->step());
                const bool is_bad = generation == 2 || generation == 3;
                EXPECT_EQ(summary.has_finite, !is_bad);
                EXPECT_EQ(by_twin.has_finite, !is_bad);
                EXPECT_EQ(summary.not_finite, is_bad ? kFiniteMembers : 0U);
                EXPECT_EQ(std::isfinite(summary.best), !is_bad) << "best of nothing";
                EXPECT_EQ(std::isfinite(summary.mean), !is_bad);
                EXPECT_TRUE(are_all_finite(runs.device->parameters()) &&
                            are_all_finite(runs.device->optimizer_state()));
                ASSERT_OK_AND_ASSIGN(const std::string hash, runs.device->state_hash());
                EXPECT_EQ(hash, *runs.twin->state_hash()) << to_string(rule) << ", generation " << generation;
                EXPECT_NE(hash, before) << "the generation is counted, and later ones learn";
                before = hash;
            }
        }
    }
}

TEST_P(not_finite, a_run_that_has_nothing_to_learn_from_ends) {
    const EvolutionOptions options{.population = kFiniteMembers};
    const Scores never = [](std::uint32_t) { return std::vector<float>(kFiniteMembers, kNoScore); };
    ASSERT_OK_AND_ASSIGN(Runs runs, create(options, never));
    EXPECT_TRUE(expect_error(runs.step(), ErrorKind::Failed, "In generation 0 no member has a finite score"));
    EXPECT_TRUE(expect_error(runs.twin->step(), ErrorKind::Failed, "In generation 0 no member has a finite score"));
    const Scores once = [](std::uint32_t generation) {
        return generation == 0 ? drawn_scores(kFiniteMembers) : std::vector<float>(kFiniteMembers, kNoScore);
    };
    ASSERT_OK_AND_ASSIGN(Runs later, create(options, once));
    ::testing::internal::CaptureStderr();
    for (std::uint32_t generation = 0; generation < NotFiniteWatch::kMostInARow; ++generation) EXPECT_OK(later.step());
    EXPECT_THAT(::testing::internal::GetCapturedStderr(), HasSubstr("In generation 1 no member has a finite score"));
    EXPECT_TRUE(expect_error(later.step(), ErrorKind::Failed, "In generation 10 and the 9 before it"));
}

// Steps so long that parameters and moments would overflow.
TEST_P(not_finite, elements_that_would_overflow_stay_and_are_counted) {
    for (const OptimizerRule rule : kAllRules) {
        const Scores scores = [](std::uint32_t generation) { return drawn_scores(kFiniteMembers, generation + 1); };
        const EvolutionOptions options{
            .population = kFiniteMembers, .sigma = 4.0F, .learning_rate = 3e38F, .optimizer = rule};
        ASSERT_OK_AND_ASSIGN(Runs runs, create(options, scores));
        std::uint32_t skipped = 0;
        ::testing::internal::CaptureStderr();
        for (std::uint32_t generation = 0; generation < 4; ++generation) {
            ASSERT_OK_AND_ASSIGN(const GenerationSummary summary, runs.step());
            ASSERT_OK_AND_ASSIGN(const GenerationSummary by_twin, runs.twin->step());
            EXPECT_EQ(summary.skipped_elements, by_twin.skipped_elements) << to_string(rule);
            skipped += summary.skipped_elements;
            ASSERT_OK_AND_ASSIGN(const std::string hash, runs.device->state_hash());  // refuses what is not finite
            EXPECT_EQ(hash, *runs.twin->state_hash());
        }
        const std::string log = ::testing::internal::GetCapturedStderr();
        EXPECT_GT(skipped, 0U) << to_string(rule);
        EXPECT_THAT(log, HasSubstr("parameters were left as they were"));
    }
}

}  // namespace
}  // namespace yolk::evolve
