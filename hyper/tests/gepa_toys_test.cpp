// SPDX-License-Identifier: Apache-2.0
// What GEPA finds, and what it needs for it, on tasks whose best prompt is known.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "prompt_toys.hpp"
#include "yolk/internal/testing/device_test.hpp"

namespace yolk::hyper::prompts {
namespace {

constexpr std::uint64_t kSeeds = 10;

// A hash that is the same everywhere: std::hash need not be.
std::uint32_t hash_of_text(std::string_view text) {
    std::uint32_t hash = 2166136261U;
    for (const char c : text) hash = (hash ^ static_cast<unsigned char>(c)) * 16777619U;
    return hash ^ (hash >> 15U);
}

/// Reads the feedback, and one time in five makes a mess: a line of the prompt is lost.
chat_server::Reply reflects(const Json& request) {
    const std::string prompt = prompt_in(request);
    if (hash_of_text(prompt) % 5 != 0) return adds_a_demand(request);
    std::vector<std::string> lines = lines_of(text_in_prompt(prompt));
    if (lines.size() > 1) lines.erase(lines.begin() + static_cast<std::ptrdiff_t>(hash_of_text(prompt) % lines.size()));
    return fenced(joined(lines));
}

/// Edits at random, without a look at the feedback: adds one of all 64 rules, which it is even told, or takes a line
/// away.
chat_server::Rule edits_at_random(std::uint32_t seed) {
    return
        [random = std::make_shared<std::mt19937>(seed), guard = std::make_shared<std::mutex>()](const Json& request) {
            const std::lock_guard<std::mutex> lock(*guard);
            std::vector<std::string> lines = lines_of(text_in_prompt(prompt_in(request)));
            if (lines.size() > 1 && (*random)() % 4 == 0) {
                lines.erase(lines.begin() + static_cast<std::ptrdiff_t>((*random)() % lines.size()));
            } else {
                lines.push_back(rule_text((*random)() % kKnownRules));
            }
            return fenced(joined(lines));
        };
}

/// The mean of the best prompt found within the budget.
double best_mean(ToyObjective objective, GepaOptions options, std::uint64_t metric_calls) {
    objective.run.budget.metric_calls = metric_calls;
    const Result<void> ran = gepa(std::move(options))->run(objective);
    EXPECT_TRUE(ran) << (ran ? "" : ran.error().message);
    EXPECT_LE(objective.cost().metric_calls, metric_calls);
    EXPECT_TRUE(objective.best.has_value());
    return objective.best ? objective.best->second : -1.0;
}

ToyObjective rules_objective(const Reflector& reflector) {
    return {{{"prompt", "Answer the question."}}, kNeededRules, kNeededRules, &rules_score, reflector};
}

TEST(gepa_toys, the_best_prompt_is_reached_within_the_budget_and_not_by_random_edits) {
    constexpr std::uint64_t kBudget = 500;
    int reached = 0;
    int reached_at_random = 0;
    for (std::uint64_t seed = 1; seed <= kSeeds; ++seed) {
        const Reflecting model(&reflects);
        reached += best_mean(rules_objective(model.reflector()), {.seed = seed}, kBudget) == 1.0 ? 1 : 0;
        const Reflecting random(edits_at_random(static_cast<std::uint32_t>(seed)));
        reached_at_random += best_mean(rules_objective(random.reflector()), {.seed = seed}, kBudget) == 1.0 ? 1 : 0;
    }
    RecordProperty("reached", reached);
    EXPECT_GE(reached, 9);
    EXPECT_EQ(reached_at_random, 0);
}

ToyObjective halves_objective(const Reflector& reflector) {
    return {
        {{"reader", "Read the report."}, {"writer", "Write a summary."}}, kHalves, kHalves, &halves_score, reflector};
}

int seeds_that_solve_halves(const GepaOptions& options) {
    constexpr std::uint64_t kBudget = 250;
    const Reflecting model(&adds_a_demand);
    int solved = 0;
    for (std::uint64_t seed = 1; seed <= kSeeds; ++seed) {
        GepaOptions with_seed = options;
        with_seed.seed = seed;
        solved += best_mean(halves_objective(model.reflector()), with_seed, kBudget) == 1.0 ? 1 : 0;
    }
    return solved;
}

TEST(gepa_toys, two_halves_need_a_front_and_a_merge) {
    EXPECT_GE(seeds_that_solve_halves({}), 9);
    EXPECT_EQ(seeds_that_solve_halves({.most_merges = 0}), 0);              // a front alone
    EXPECT_EQ(seeds_that_solve_halves({.parent = ParentChoice::Best}), 0);  // merges alone
    EXPECT_EQ(seeds_that_solve_halves({.most_merges = 0, .parent = ParentChoice::Best}), 0);
}

}  // namespace
}  // namespace yolk::hyper::prompts
