// SPDX-License-Identifier: Apache-2.0
// What the strategies are worth, on surfaces made by formula.
#include "yolk/internal/autotune/replay.hpp"

#include <gmock/gmock.h>

#include <numeric>

#include "surfaces.hpp"
#include "yolk/internal/autotune/transfer.hpp"

namespace yolk::autotune {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

double mean_fraction(const RecordedSurface& surface, const char* strategy, std::size_t budget, std::size_t repeats,
                     std::shared_ptr<const DevicePrior> prior = {}) {
    return replay(surface,
                  {.tuner = {.strategy = strategy, .budget = budget, .prior = std::move(prior)}, .repeats = repeats})
        .value()
        .mean(budget);
}

// Random search against its exact expectation: the best of n draws without replacement.
TEST(replay, random_is_what_it_must_be) {
    const RecordedSurface surface = tiled_product();
    constexpr std::size_t kBudget = 10;
    std::vector<double> sorted(surface.costs().begin(), surface.costs().end());
    std::ranges::sort(sorted);
    double expected = 0.0;
    double remaining = 1.0;  // P(none of the first r is drawn)
    const auto size = static_cast<double>(sorted.size());
    for (std::size_t r = 0; r < sorted.size(); ++r) {
        const double next =
            remaining * std::max(0.0, (size - static_cast<double>(r) - kBudget) / (size - static_cast<double>(r)));
        if (std::isfinite(sorted[r])) expected += (remaining - next) * surface.optimum() / sorted[r];
        remaining = next;
    }
    const Replay random = replay(surface, {.tuner = {.strategy = "random", .budget = kBudget}, .repeats = 400}).value();
    EXPECT_NEAR(random.mean(kBudget), expected, 4.0 * random.standard_error(kBudget));
}

// Each strategy that learns beats the one that does not.
TEST(replay, learning_beats_luck) {
    const RecordedSurface surface = tiled_product();
    const double luck = mean_fraction(surface, "random", 60, 40);
    for (const char* strategy : {"greedy", "anneal", "genetic", "eggroll"}) {
        EXPECT_GT(mean_fraction(surface, strategy, 60, 40), luck) << strategy;
    }
    EXPECT_GT(mean_fraction(surface, "natural", 60, 8), luck + 0.05);
    EXPECT_GT(mean_fraction(surface, "bayes", 60, 8), luck + 0.05);
    EXPECT_EQ(mean_fraction(surface, "exhaustive", surface.costs().size(), 1), 1.0);
}

TEST(replay, statistics) {
    const Replay replay{.curves = {{0.2, 0.8}, {0.4, 0.9}, {0.6, 1.0}}};
    EXPECT_DOUBLE_EQ(replay.mean(1), 0.4);
    EXPECT_DOUBLE_EQ(replay.percentile(1, 0.1), 0.24);
    EXPECT_DOUBLE_EQ(replay.percentile(2, 1.0), 1.0);
    EXPECT_NEAR(replay.standard_error(1), 0.2 / std::sqrt(3.0), 1e-12);
    EXPECT_EQ(replay.evaluations_to(0.9), 2U);
    EXPECT_EQ(replay.evaluations_to(0.95), std::nullopt);
    EXPECT_THAT(reported_budgets(60), ElementsAre(10, 16, 25, 50));
    EXPECT_THAT(reported_budgets(3), ElementsAre(3));
}

TEST(replay, threads_do_not_matter_and_progress_can_stop) {
    const RecordedSurface surface = tiled_product();
    ReplayOptions options{.tuner = {.strategy = "genetic", .budget = 50}, .repeats = 6, .threads = 1};
    const Replay one = replay(surface, options).value();
    options.threads = 3;
    EXPECT_EQ(one.curves, replay(surface, options).value().curves);
    options.progress = [](std::size_t done) { return done < 2; };
    options.threads = 1;
    const Replay stopped = replay(surface, options).value();
    EXPECT_TRUE(stopped.interrupted);
    EXPECT_EQ(stopped.curves.size(), 2U);
    options.repeats = 0;
    EXPECT_FALSE(replay(surface, options));
}

TEST(transfer, other_devices_make_the_first_measurements_good) {
    std::vector<RecordedSurface> others;
    for (const double device : {-1.0, -0.5, 0.2, 0.8, 1.3}) others.push_back(tiled_product(device));
    const RecordedSurface target = tiled_product(0.5);
    const auto prior = std::make_shared<const DevicePrior>(make_prior(target.candidates(), others).value());
    EXPECT_EQ(prior->mean.size(), target.costs().size());
    EXPECT_FALSE(prior->factors.empty());
    const double warm = mean_fraction(target, "natural", 16, 3, prior);
    EXPECT_GT(warm, 0.95);
    EXPECT_GT(warm, mean_fraction(target, "natural", 16, 5));
}

// Devices that like the opposite: the guard gives the budget back to the cold search.
TEST(transfer, a_wrong_prior_costs_little) {
    std::vector<RecordedSurface> others;
    for (const double device : {0.2, 0.4}) {
        const RecordedSurface good = tiled_product(device);
        std::vector<double> costs(good.costs().begin(), good.costs().end());
        for (double& cost : costs) cost = 1.0 / cost;
        others.push_back(RecordedSurface::of(good.candidates(), std::move(costs)).value());
    }
    const RecordedSurface target = tiled_product(0.3);
    const auto prior = std::make_shared<const DevicePrior>(make_prior(target.candidates(), others).value());
    EXPECT_GT(mean_fraction(target, "natural", 100, 4, prior), mean_fraction(target, "natural", 100, 4) - 0.02);
}

// One recording says nothing of how devices differ: it is a hint, and what is measured soon overrules it.
TEST(transfer, a_single_recording_costs_little_whatever_it_says) {
    const RecordedSurface target = tiled_product(0.3);
    const double cold_early = mean_fraction(target, "natural", 25, 8);
    const double cold_late = mean_fraction(target, "natural", 100, 8);
    for (const double device : {-2.5, -1.0, 1.0, 2.5, 4.0}) {
        std::vector<RecordedSurface> one;
        one.push_back(tiled_product(device, 0.3));
        const auto prior = std::make_shared<const DevicePrior>(make_prior(target.candidates(), one).value());
        EXPECT_GE(prior->residual_deviation, 0.3);
        EXPECT_GT(mean_fraction(target, "natural", 25, 8, prior), cold_early - 0.02) << device;
        EXPECT_GT(mean_fraction(target, "natural", 100, 8, prior), cold_late - 0.01) << device;
    }
}

// A device that recorded a tenth of the candidates says something about the others, too.
TEST(transfer, a_sparse_recording_is_filled_by_a_regression) {
    const RecordedSurface whole = tiled_product(0.4);
    std::vector<std::uint16_t> choices;
    std::vector<double> costs;
    for (std::size_t c = 0; c < whole.candidates().size(); c += 10) {
        choices.insert(choices.end(), whole.candidates()[c].begin(), whole.candidates()[c].end());
        costs.push_back(whole.costs()[c]);
    }
    std::vector<RecordedSurface> others;
    others.push_back(
        RecordedSurface::of(CandidateSet::of(whole.candidates().space(), std::move(choices)).value(), std::move(costs))
            .value());
    const DevicePrior prior = make_prior(whole.candidates(), others).value();
    double above = 0.0;
    double below = 0.0;
    for (std::size_t c = 0; c < prior.mean.size(); ++c) {
        const bool good = whole.costs()[c] < 1.5 * whole.optimum();
        (good ? below : above) += prior.mean[c];
        EXPECT_TRUE(!good || prior.mean[c] < 2.0) << prior.mean[c];
    }
    EXPECT_LT(below, above);
}

// Parameters are matched by name and values by equality, in whatever order.
TEST(transfer, candidates_are_matched_by_name) {
    std::vector<RecordedSurface> others;
    for (const double device : {0.0, 0.5}) others.push_back(tiled_product(device));
    const CandidateSet& known = others.front().candidates();
    const auto theirs = known.space().parameters();
    std::vector<Parameter> reversed(theirs.rbegin(), theirs.rend());
    const CandidateSet target = CandidateSet::of(Space::create(std::move(reversed)).value(), 100000, 1).value();
    const DevicePrior plain = make_prior(known, others).value();
    const DevicePrior prior = make_prior(target, others).value();
    ASSERT_EQ(prior.mean.size(), target.size());
    for (std::size_t c = 0; c < target.size(); c += 37) {
        const Choice choice(std::make_reverse_iterator(target[c].end()), std::make_reverse_iterator(target[c].begin()));
        EXPECT_DOUBLE_EQ(prior.mean[c], plain.mean[*known.find(choice)]);
    }
}

TEST(transfer, other_spaces_are_refused) {
    const RecordedSurface target = tiled_product();
    EXPECT_FALSE(make_prior(target.candidates(), {}));
    Space space = Space::create({Parameter::of("block", {1.0, 2.0})}).value();
    std::vector<RecordedSurface> others;
    others.push_back(RecordedSurface::of(CandidateSet::of(std::move(space), 10, 1).value(), {1.0, 2.0}).value());
    const Result<DevicePrior> prior = make_prior(target.candidates(), others);
    ASSERT_FALSE(prior);
    EXPECT_THAT(prior.error().message, HasSubstr("of another space"));
}

}  // namespace
}  // namespace yolk::autotune
