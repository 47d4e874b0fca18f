// SPDX-License-Identifier: Apache-2.0
// Two regressions that propose together.
#include "hedged_search.hpp"

#include <gmock/gmock.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <set>
#include <vector>

#include "surfaces.hpp"
#include "yolk/internal/autotune/tuner.hpp"

namespace yolk::autotune {
namespace {

constexpr std::size_t kFirst = 12;
constexpr std::size_t kLocalEvery = 3;

std::unique_ptr<PosteriorSearch> regression(const CandidateSet& candidates, const History& history, double linear_share,
                                            double weight = 1.0) {
    return std::make_unique<PosteriorSearch>(
        candidates, history,
        PosteriorOptions{.covariance = {.linear_share = linear_share, .residual_share = 1.0 - linear_share},
                         .weight = weight},
        host_linear_algebra());
}

/// Costs of `measurements` by a search with the log-linear model alone (of `linear_share`), or with a process beside
/// it.
std::vector<double> costs_of(const RecordedSurface& surface, std::uint64_t seed, std::size_t measurements,
                             double linear_share, bool hedged) {
    const CandidateSet& candidates = surface.candidates();
    History history(candidates.size());
    HedgedSearch search(regression(candidates, history, linear_share),
                        hedged ? regression(candidates, history, 0.0) : nullptr);
    Random random(seed);
    std::vector<double> costs;
    while (costs.size() < measurements) {
        std::size_t next = random.below(candidates.size());
        if (costs.size() >= kFirst) next = search.propose(candidates, kLocalEvery).value();
        if (history.known(next)) continue;
        costs.push_back(surface.costs()[next]);
        history.add(next, costs.back());
        search.add(next, std::log(costs.back()));
    }
    return costs;
}

/// 12^3 configurations with a valley along a + b = b + c = 11 that sinks by .05 per step: every value of b and c is as
/// good as any other on average, and no single parameter can be changed within the valley.
RecordedSurface oblique_valley() {
    std::vector<Parameter> parameters;
    for (const char* name : {"a", "b", "c"}) {
        std::vector<Value> values;
        for (int v = 0; v < 12; ++v) values.emplace_back(static_cast<double>(v));
        parameters.push_back(Parameter::of(name, std::move(values)));
    }
    CandidateSet candidates = CandidateSet::of(Space::create(std::move(parameters)).value(), 5000, 1).value();
    std::vector<double> costs;
    for (std::size_t c = 0; c < candidates.size(); ++c) {
        const ChoiceView v = candidates[c];
        costs.push_back(
            std::exp(0.2 * std::abs(v[0] + v[1] - 11.0) + 0.2 * std::abs(v[1] + v[2] - 11.0) + 0.05 * v[0]));
    }
    return RecordedSurface::of(std::move(candidates), std::move(costs)).value();
}

double mean_log_best(const RecordedSurface& surface, bool hedged) {
    double sum = 0.0;
    constexpr std::uint64_t kSearches = 12;
    for (std::uint64_t seed = 1; seed <= kSearches; ++seed) {
        const std::vector<double> costs = costs_of(surface, seed, 40, 0.98, hedged);
        sum += std::log(*std::ranges::min_element(costs) / surface.optimum());
    }
    return sum / static_cast<double>(kSearches);
}

// A model that takes the costs for products of the parameters' own shares is wrong here, and alone does not get near
// the optimum; with a process beside it the search does.
TEST(hedged_search, helps_where_the_log_linear_model_is_wrong) {
    const RecordedSurface surface = oblique_valley();
    const double alone = mean_log_best(surface, false);
    const double hedged = mean_log_best(surface, true);
    RecordProperty("alone", std::to_string(alone));
    RecordProperty("hedged", std::to_string(hedged));
    EXPECT_LT(hedged, 0.5 * alone);
}

TEST(hedged_search, proposes_the_largest_sum_and_neighbours_in_turn) {
    const RecordedSurface surface = tiled_product();
    const CandidateSet& candidates = surface.candidates();
    History history(candidates.size());
    constexpr double kWeight = 2.0;
    HedgedSearch search(regression(candidates, history, 0.5), regression(candidates, history, 0.0, kWeight));
    const auto first = regression(candidates, history, 0.5);
    const auto second = regression(candidates, history, 0.0);
    Random random(2);
    double best = std::numeric_limits<double>::infinity();
    std::size_t best_at = 0;
    while (search.count() < 40) {
        std::size_t next = random.below(candidates.size());
        if (search.count() >= kFirst) {
            next = search.propose(candidates, kLocalEvery).value();
            const std::vector<std::size_t> near = candidates.neighbours(best_at);
            const bool local = search.count() % kLocalEvery == 0;
            if (local) {
                EXPECT_THAT(near, ::testing::Contains(next));
            }
            const Opinion a = first->opinion(best);
            const Opinion b = second->opinion(best);
            for (std::size_t c = 0; c < candidates.size(); ++c) {
                if (history.known(c) || (local && std::ranges::find(near, c) == near.end())) continue;
                ASSERT_LE(log_gain(a, c) + kWeight * log_gain(b, c), log_gain(a, next) + kWeight * log_gain(b, next))
                    << c;
            }
        }
        const double cost = surface.costs()[next];
        if (history.known(next) || !std::isfinite(cost)) {
            if (!history.known(next)) history.add(next, cost);
            continue;
        }
        history.add(next, cost);
        for (PosteriorSearch* one : {first.get(), second.get()}) one->add(next, std::log(cost));
        search.add(next, std::log(cost));
        if (std::log(cost) < best) {
            best = std::log(cost);
            best_at = next;
        }
    }
}

// What the second regression rules out for good gets a turn late in a search.
TEST(hedged_search, from_a_hundred_measurements_on_the_first_has_every_other_turn) {
    const RecordedSurface surface = oblique_valley();
    const CandidateSet& candidates = surface.candidates();
    History history(candidates.size());
    HedgedSearch search(regression(candidates, history, 0.98), regression(candidates, history, 0.0));
    const auto first = regression(candidates, history, 0.98);
    const auto second = regression(candidates, history, 0.0);
    Random random(4);
    double best = std::numeric_limits<double>::infinity();
    std::size_t alone = 0;
    std::size_t apart = 0;  // turns at which the two rules propose different candidates
    while (search.count() < 120) {
        std::size_t next = random.below(candidates.size());
        if (search.count() >= 90) {
            next = search.propose(candidates, kLocalEvery).value();
            if (search.count() % kLocalEvery != 0) {
                const auto own = first->most_promising(best);
                const auto both = first->most_promising_with(*second, best);
                const bool late = search.count() >= 100 && search.count() % 2 == 1;
                EXPECT_EQ(next, late ? own : both) << search.count();
                alone += late ? 1U : 0U;
                apart += late && own != both ? 1U : 0U;
            }
        }
        if (history.known(next)) continue;
        const double cost = surface.costs()[next];
        history.add(next, cost);
        if (!std::isfinite(cost)) continue;
        for (PosteriorSearch* one : {first.get(), second.get()}) one->add(next, std::log(cost));
        search.add(next, std::log(cost));
        best = std::min(best, std::log(cost));
    }
    EXPECT_GT(alone, 5U);
    EXPECT_GT(apart, 0U);
}

// Where nothing that was measured worked, the best is a failed one; the search goes on, and ends with the space.
TEST(hedged_search, ends_with_the_space) {
    Space space = Space::create({Parameter::of("a", {1.0, 2.0, 4.0}), Parameter::of("b", {1.0, 2.0})}).value();
    const CandidateSet candidates = CandidateSet::of(std::move(space), 100, 1).value();
    History history(candidates.size());
    HedgedSearch search(regression(candidates, history, 0.5), regression(candidates, history, 0.0));
    std::set<std::size_t> seen;
    while (const auto next = search.propose(candidates, kLocalEvery)) {
        ASSERT_TRUE(seen.insert(*next).second);
        history.add(*next, kInvalidCost);
        search.add(*next, 3.0);
    }
    EXPECT_EQ(seen.size(), candidates.size());
}

}  // namespace
}  // namespace yolk::autotune
