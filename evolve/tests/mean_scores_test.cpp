// SPDX-License-Identifier: Apache-2.0
// Scores of the mean beside those of the members, bounds of elements, and a run without a device.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "pool_fixtures.hpp"
#include "yolk/internal/evolve/state_digest.hpp"

namespace yolk::evolve {
namespace {

using ::testing::HasSubstr;
using ::yolk::testing::expect_error;

constexpr std::uint32_t kSteps = 6;
constexpr float kLower = 0.2F, kUpper = 0.27F;

EvolutionOptions pairs_of(std::uint32_t population = 64) {
    return {.population = population, .sigma = 0.5F, .learning_rate = 0.5F, .optimizer = OptimizerRule::Momentum};
}

double first_score(std::span<const float> parameters) {
    double sum = 0.0;
    for (const float value : parameters) sum += double{value};
    return sum;
}

/// The mean's scores follow from the parameters and the generation; `error` is added to the first of them.
class WithMean final : public MemberEvaluator {
   public:
    explicit WithMean(Spoiling error = {}) : members_(host_members(&score_on_host)), error_(std::move(error)) {}
    [[nodiscard]] std::uint32_t episodes() const noexcept override { return 1; }
    [[nodiscard]] std::uint32_t most_members() const noexcept override { return 4; }
    [[nodiscard]] Result<void> begin(std::span<const float> parameters, const NoiseContext& when) override {
        parameters_.assign(parameters.begin(), parameters.end());
        when_ = when;
        return members_->begin(parameters, when);
    }
    [[nodiscard]] Result<std::uint64_t> evaluate(const MemberRange& members, std::span<float> returns) override {
        return members_->evaluate(members, returns);
    }
    [[nodiscard]] Result<std::uint64_t> evaluate_with_mean(const MemberRange& members, std::span<float> returns,
                                                           std::span<double> mean) override {
        mean[0] = first_score(parameters_);
        mean[1] = static_cast<double>(when_.generation);
        if (error_) mean[0] += double{error_({.parameters = parameters_, .when = when_, .members = members})};
        return members.count == 0 ? Result<std::uint64_t>(std::uint64_t{1}) : members_->evaluate(members, returns);
    }

   private:
    std::unique_ptr<MemberEvaluator> members_;
    Spoiling error_;
    std::vector<float> parameters_;
    NoiseContext when_{};
};

/// Every third element has bounds that the updates leave.
PoolParts parts_with_mean(const EvolutionOptions& options, const std::function<Spoiling(std::size_t)>& spoil = {}) {
    PoolParts parts = host_scored_parts(options, [spoil](std::size_t worker) -> std::unique_ptr<MemberEvaluator> {
        return std::make_unique<WithMean>(spoil ? spoil(worker) : Spoiling());
    });
    parts.judge = std::make_unique<WithMean>();
    parts.mean_scores = 2;
    parts.digest = true;
    for (std::uint32_t element = 0; element < parts.parameters.element_count(); element += 3)
        parts.bounds.push_back({.element = element, .lower = kLower, .upper = kUpper});
    return parts;
}

struct Seen {
    std::vector<std::string> digests;  ///< by generations done
    std::vector<double> means;         ///< by generation; the last is that after them
};

void expect_inside(const MeanScores& mean) {
    for (std::size_t element = 0; element < mean.parameters.size(); element += 3) {
        EXPECT_GE(mean.parameters[element], kLower);
        EXPECT_LE(mean.parameters[element], kUpper);
    }
}

/// Generations that are made again take the place of the first.
Result<Seen> follow_means(Evolution& run) {
    Seen seen{.digests = std::vector<std::string>(kSteps + 1), .means = std::vector<double>(kSteps + 1)};
    while (true) {
        while (run.generations() < kSteps) {
            YOLK_TRY(const GenerationSummary summary, run.step());
            const MeanScores mean = run.mean();
            expect_inside(mean);
            EXPECT_EQ(mean.scores[0], first_score(mean.parameters)) << summary.generation;
            EXPECT_EQ(mean.scores[1], static_cast<double>(summary.generation));
            EXPECT_LE(run.settled(), run.generations());
            seen.means[summary.generation] = mean.scores[0];
            YOLK_TRY(seen.digests[summary.generation + 1], run.state_digest());
        }
        YOLK_TRY(const bool stands, run.score_mean());
        if (!stands) continue;
        seen.means[kSteps] = run.mean().scores[0];
        return seen;
    }
}

class mean_scores_of_runs : public ::testing::Test {
   protected:
    static const Device& device() { return yolk::testing::first_device().device; }
    static Dispatcher& dispatcher() { return yolk::testing::first_device().dispatcher; }
    void SetUp() override {
        ASSERT_OK_AND_ASSIGN(Evolution run,
                             Evolution::create(Devices::none(), parts_with_mean(pairs_of()), pairs_of()));
        ASSERT_OK_AND_ASSIGN(host_, follow_means(run));
    }
    Seen host_;
};

TEST_F(mean_scores_of_runs, are_the_same_on_the_host_and_on_devices) {
    EXPECT_NE(host_.means.front(), host_.means.back());
    ASSERT_OK_AND_ASSIGN(DevicePool pool, DevicePool::create(std::span(&device(), 1), {.host_workers = 2}));
    ASSERT_OK_AND_ASSIGN(Evolution run, Evolution::create(pool, parts_with_mean(pairs_of()), pairs_of()));
    ASSERT_OK_AND_ASSIGN(const Seen seen, follow_means(run));
    EXPECT_EQ(seen.means, host_.means);
    EXPECT_EQ(seen.digests, host_.digests);
    EXPECT_EQ(run.settled(), kSteps) << "nothing is audited";
}

/// A worker whose members are right and whose mean is wrong is found, whoever the auditor is, and what it gave is made
/// again.
TEST_F(mean_scores_of_runs, are_audited) {
    std::uint32_t found = 0;
    for (std::uint64_t seed = 1; seed <= 20 && found < 2; ++seed) {
        SCOPED_TRACE(seed);
        std::string notices;
        ASSERT_OK_AND_ASSIGN(
            DevicePool pool,
            DevicePool::create(std::span(&device(), 1),
                               {.audit = 1.0, .seed = seed, .host_workers = 1, .on_drop = [&](const std::string& text) {
                                    notices += text;
                                }}));
        const auto wrong = [](std::size_t worker) -> Spoiling {
            if (worker != 1) return {};
            return [](const HostQuestion& question) { return question.when.generation >= 2 ? 1.0F : 0.0F; };
        };
        ASSERT_OK_AND_ASSIGN(Evolution run, Evolution::create(pool, parts_with_mean(pairs_of(), wrong), pairs_of()));
        ASSERT_OK_AND_ASSIGN(const Seen seen, follow_means(run));
        EXPECT_EQ(seen.means, host_.means);
        EXPECT_EQ(seen.digests, host_.digests);
        if (pool.is_used(1)) continue;  // it was not given the first members
        EXPECT_THAT(notices, HasSubstr("It computes wrongly"));
        ++found;
    }
    EXPECT_EQ(found, 2U);
}

/// A log has the states that updates made, outside of their bounds where that is so: from any of them the run goes on.
TEST_F(mean_scores_of_runs, a_run_goes_on_from_a_state_outside_its_bounds) {
    PoolParts first = parts_with_mean(pairs_of());
    ASSERT_OK_AND_ASSIGN(Evolution run, Evolution::create(Devices::none(), std::move(first), pairs_of()));
    for (std::uint32_t step = 0; step < 3; ++step) ASSERT_OK(run.step());
    const std::span<const float> parameters = run.parameters();
    bool is_outside = false;
    for (std::size_t element = 0; element < parameters.size(); element += 3)
        is_outside = is_outside || parameters[element] > kUpper || parameters[element] < kLower;
    ASSERT_TRUE(is_outside);
    PoolParts later = parts_with_mean(pairs_of());
    later.initial.assign(parameters.begin(), parameters.end());
    later.optimizer_state.assign(run.optimizer_state().begin(), run.optimizer_state().end());
    later.generation = run.generations();
    ASSERT_OK_AND_ASSIGN(Evolution rest, Evolution::create(Devices::none(), std::move(later), pairs_of()));
    while (rest.generations() < kSteps) {
        ASSERT_OK(rest.step());
        ASSERT_OK_AND_ASSIGN(const std::string digest, rest.state_digest());
        EXPECT_EQ(digest, host_.digests[rest.generations()]);
    }
}

/// By a device that is given the weights of each generation, and knows the bounds.
TEST_F(mean_scores_of_runs, replays_move_into_the_same_bounds) {
    PoolParts parts = parts_with_mean(pairs_of());
    parts.keep_weights = true;
    EvolutionParts again{
        .parameters = parts.parameters, .initial = parts.initial, .bounds = parts.bounds, .digest = true};
    ASSERT_OK_AND_ASSIGN(Evolution run, Evolution::create(Devices::none(), std::move(parts), pairs_of()));
    ASSERT_OK_AND_ASSIGN(Evolution replayed, Evolution::create(device(), dispatcher(), std::move(again), pairs_of()));
    for (std::uint32_t step = 0; step < kSteps; ++step) {
        ASSERT_OK(run.step());
        ASSERT_OK_AND_ASSIGN(const ShapedGeneration shaped, run.shaped());
        ASSERT_OK(replayed.apply(shaped));
        ASSERT_OK_AND_ASSIGN(const std::string digest, replayed.state_digest());
        EXPECT_EQ(digest, host_.digests[step + 1]);
    }
}

TEST_F(mean_scores_of_runs, bad_parts_are_refused) {
    PoolParts parts = parts_with_mean(pairs_of());
    parts.mean_scores = 3;
    EXPECT_TRUE(expect_error(Evolution::create(Devices::none(), std::move(parts), pairs_of()), ErrorKind::BadInput,
                             "3 scores of the mean were asked for; 2 are the most."));
    parts = parts_with_mean(pairs_of());
    parts.bounds.push_back({.element = 1U << 30U, .lower = 0.0F, .upper = 1.0F});
    EXPECT_TRUE(expect_error(Evolution::create(Devices::none(), std::move(parts), pairs_of()), ErrorKind::BadInput,
                             "Element 1073741824 has the bounds"));
    parts = parts_with_mean(pairs_of());
    parts.bounds.front() = {.element = 0, .lower = 1.0F, .upper = 0.0F};
    EXPECT_TRUE(expect_error(Evolution::create(Devices::none(), std::move(parts), pairs_of()), ErrorKind::BadInput,
                             "Element 0 has the bounds 1 to 0"));
    parts = parts_with_mean(pairs_of());
    parts.members = {};
    ASSERT_OK_AND_ASSIGN(Evolution without, Evolution::create(Devices::none(), std::move(parts), pairs_of()));
    EXPECT_TRUE(expect_error(without.step(), ErrorKind::BadInput, "needs PoolParts::members"));
    EXPECT_TRUE(expect_error(without.score_mean(), ErrorKind::BadInput, "needs PoolParts::members"));
    parts = parts_with_mean(pairs_of());
    parts.stages.update = [](const ShapedGeneration&, const NoiseContext&) {
        return Result<std::vector<float>>(std::vector<float>());
    };
    EXPECT_TRUE(
        expect_error(Evolution::create(Devices::none(), std::move(parts), pairs_of()), ErrorKind::BadInput, "stages"));
    EvolutionOptions fast = pairs_of();
    fast.determinism = Determinism::Fast;
    EXPECT_TRUE(expect_error(Evolution::create(Devices::none(), parts_with_mean(pairs_of()), fast), ErrorKind::BadInput,
                             "exact determinism"));
    parts = parts_with_mean(pairs_of());
    parts.mean_scores = 0;
    ASSERT_OK_AND_ASSIGN(Evolution run, Evolution::create(Devices::none(), std::move(parts), pairs_of()));
    EXPECT_TRUE(run.mean().scores.empty());
    EXPECT_TRUE(expect_error(run.score_mean(), ErrorKind::BadInput, "PoolParts::mean_scores"));
}

}  // namespace
}  // namespace yolk::evolve
