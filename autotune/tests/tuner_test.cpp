// SPDX-License-Identifier: Apache-2.0
#include "yolk/internal/autotune/tuner.hpp"

#include <gmock/gmock.h>

#include <set>

#include "surfaces.hpp"

namespace yolk::autotune {
namespace {

using ::testing::HasSubstr;

std::vector<std::size_t> questions(const RecordedSurface& surface, TunerOptions options) {
    Tuner tuner = Tuner::create(shared(surface), std::move(options)).value();
    std::vector<std::size_t> asked;
    while (const auto candidate = tuner.ask()) {
        asked.push_back(*candidate);
        EXPECT_TRUE(tuner.tell(*candidate, surface.costs()[*candidate]));
    }
    return asked;
}

// For every strategy: as many different candidates as the budget allows, the same ones for the same seed.
TEST(tuner, asks_new_candidates_by_seed) {
    const RecordedSurface surface = tiled_product();
    for (const std::string_view name : strategy_names()) {
        const std::string strategy(name);
        const auto asked = questions(surface, {.strategy = strategy, .budget = 60, .seed = 4});
        EXPECT_EQ(asked.size(), 60U) << name;
        EXPECT_EQ(std::set<std::size_t>(asked.begin(), asked.end()).size(), 60U) << name;
        EXPECT_EQ(asked, questions(surface, {.strategy = strategy, .budget = 60, .seed = 4})) << name;
        const bool same = asked == questions(surface, {.strategy = strategy, .budget = 60, .seed = 5});
        EXPECT_EQ(same, name == "exhaustive") << name;
    }
}

// A space that the budget exceeds is known to its end, whatever the strategy and whatever fails.
TEST(tuner, exhausts_a_small_space) {
    Space space = Space::create({Parameter::of("a", {1.0, 2.0, 4.0}), Parameter::of("b", {0.0, 1.0, 2.0, 3.0, 4.0}),
                                 Parameter::of("constant", {7.0})})
                      .value();
    CandidateSet candidates = CandidateSet::of(std::move(space), 100, 1).value();
    std::vector<double> costs(15, kInvalidCost);
    costs[11] = 2.0;
    costs[3] = 3.0;
    const RecordedSurface surface = RecordedSurface::of(std::move(candidates), costs).value();
    for (const std::string_view name : strategy_names()) {
        EXPECT_EQ(questions(surface, {.strategy = std::string(name), .budget = 1000}).size(), 15U) << name;
    }
    // One candidate, and it fails.
    Space single = Space::create({Parameter::of("a", {1.0})}).value();
    const auto only = std::make_shared<const CandidateSet>(CandidateSet::of(std::move(single), 10, 1).value());
    for (const std::string_view name : strategy_names()) {
        Tuner tuner = Tuner::create(only, {.strategy = std::string(name)}).value();
        EXPECT_EQ(tuner.ask(), 0U);
        EXPECT_TRUE(tuner.tell(0, kInvalidCost));
        EXPECT_EQ(tuner.ask(), std::nullopt);
        EXPECT_FALSE(tuner.best());
    }
}

TEST(tuner, question_stays_until_it_is_answered) {
    const RecordedSurface surface = tiled_product();
    for (const std::string_view name : strategy_names()) {
        Tuner tuner = Tuner::create(shared(surface), {.strategy = std::string(name)}).value();
        const std::size_t first = tuner.ask().value();
        EXPECT_EQ(tuner.ask(), first);
        const std::size_t other = first == 7 ? 8 : 7;
        EXPECT_TRUE(tuner.tell(other, 1e-3));  // known from elsewhere; not what was asked
        EXPECT_EQ(tuner.ask(), first);
        EXPECT_TRUE(tuner.tell(first, 1.0));
        EXPECT_NE(tuner.ask(), first);
        // The answer is the cheapest that was told, whoever proposed it.
        EXPECT_EQ(tuner.best()->candidate, other);
    }
}

TEST(tuner, answer_is_the_best_median) {
    const RecordedSurface surface = tiled_product();
    Tuner tuner = Tuner::create(shared(surface), {.strategy = "random"}).value();
    for (const double cost : {0.5, 2.0, 2.1}) EXPECT_TRUE(tuner.tell(3, cost));  // one lucky sample
    for (const double cost : {1.0, 1.2}) EXPECT_TRUE(tuner.tell(4, cost));
    EXPECT_EQ(tuner.best()->candidate, 4U);
    EXPECT_DOUBLE_EQ(tuner.best()->cost, 1.1);
    EXPECT_EQ(tuner.best()->samples, 2U);
    EXPECT_TRUE(tuner.tell(4, kInvalidCost));  // it failed once: never the answer
    EXPECT_EQ(tuner.best()->candidate, 3U);
    EXPECT_EQ(tuner.history().size(), 2U);
}

// Simulated noise: every sample is up to 5 % off. The house strategy comes near the optimum all the same, and
// re-measured finalists decide.
TEST(tuner, finds_a_good_one_through_noise) {
    const RecordedSurface surface = tiled_product();
    for (const std::uint64_t seed : {1U, 2U, 3U}) {
        Tuner tuner = Tuner::create(shared(surface), {.budget = 80, .seed = seed}).value();
        Random noise(seed, 99);
        const auto sample = [&](std::size_t c) { return surface.costs()[c] * (1.0 + 0.05 * noise.uniform()); };
        while (const auto candidate = tuner.ask()) EXPECT_TRUE(tuner.tell(*candidate, sample(*candidate)));
        for (int again = 0; again < 20; ++again) {
            const std::size_t best = tuner.best()->candidate;
            EXPECT_TRUE(tuner.tell(best, sample(best)));
        }
        EXPECT_GT(surface.optimum() / surface.costs()[tuner.best()->candidate], 0.92) << seed;
    }
}

TEST(tuner, bad_input_is_told) {
    const RecordedSurface surface = tiled_product();
    const auto refused = [&](TunerOptions options) {
        const Result<Tuner> tuner = Tuner::create(shared(surface), std::move(options));
        return tuner ? std::string() : tuner.error().message;
    };
    EXPECT_THAT(refused({.strategy = "luck"}), HasSubstr("no strategy 'luck'"));
    EXPECT_THAT(refused({.budget = 0}), HasSubstr("budget is 0"));
    EXPECT_THAT(refused({.prior = std::make_shared<DevicePrior>()}), HasSubstr("The prior knows 0 candidates"));
    Tuner tuner = Tuner::create(shared(surface), {}).value();
    EXPECT_FALSE(tuner.tell(surface.costs().size(), 1.0));
    EXPECT_FALSE(tuner.tell(0, 0.0));
    EXPECT_FALSE(tuner.tell(0, -1.0));
    EXPECT_FALSE(tuner.tell(0, std::nan("")));
    EXPECT_EQ(tuner.history().size(), 0U);
    EXPECT_EQ(step_of("natural").value(), Step::Natural);
    EXPECT_FALSE(step_of("big"));
}

}  // namespace
}  // namespace yolk::autotune
