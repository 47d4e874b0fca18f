// SPDX-License-Identifier: Apache-2.0
// A search by several ranks, threads here, ends with the parameters of one's.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <functional>

#include "pool_fixtures.hpp"
#include "searched.hpp"
#include "yolk/internal/evolve/exchange.hpp"
#include "yolk/internal/testing/fault_injector.hpp"
#include "yolk/internal/testing/thread_exchange.hpp"
#include "yolk/json.hpp"

namespace yolk::hyper {
namespace {

using ::testing::HasSubstr;
using ::yolk::testing::expect_error;

class ranks_optimize : public ::testing::Test {
   protected:
    void SetUp() override {
        static_cast<void>(one_device());
        static_cast<void>(another_device());
    }
};

/// By rank.
using ChangeOptions = std::function<void(OptimizeOptions&, std::uint32_t rank)>;
std::vector<Result<Searched>> search_on_ranks(std::uint32_t count, const MakeTask& make,
                                              const ChangeOptions& change = {}) {
    std::vector<Result<Searched>> results(count, failed_work("not run"));
    Result<std::vector<RankDevice>> devices = devices_of_ranks(count);
    if (!devices) return std::vector<Result<Searched>>(count, devices.error());
    yolk::testing::on_ranks<evolve::Exchange>(count, [&](evolve::Exchange& exchange) {
        Task task = make();
        task.system.use(evolve::Devices((*devices)[exchange.rank()].dispatcher).with(exchange));
        const std::vector<Example> held_out(task.examples.begin(), task.examples.begin() + 2);
        OptimizeOptions options = few_generations();
        options.held_out = held_out;
        if (change) change(options, exchange.rank());
        results[exchange.rank()] = optimized(task, options);
    });
    return results;
}

void expect_same_on_ranks(const Searched& got, const Searched& expected) {
    EXPECT_EQ(got.values, expected.values);
    EXPECT_EQ(got.outcome.state_hash, expected.outcome.state_hash);
    EXPECT_EQ(got.outcome.best_reward, expected.outcome.best_reward);
    EXPECT_EQ(got.outcome.start_reward, expected.outcome.start_reward);
    EXPECT_EQ(got.outcome.cost.metric_calls, expected.outcome.cost.metric_calls);
    EXPECT_EQ(got.outcome.cost.host_calls, expected.outcome.cost.host_calls);
    ASSERT_EQ(got.outcome.history.size(), expected.outcome.history.size());
    for (std::size_t i = 0; i < got.outcome.history.size(); ++i) {
        EXPECT_EQ(got.outcome.history[i].unperturbed, expected.outcome.history[i].unperturbed) << i;
        EXPECT_EQ(got.outcome.history[i].best, expected.outcome.history[i].best) << i;
        // Sums of 32 doubles in another order: 31 roundings of at most 2^-53 of the sum of magnitudes each.
        EXPECT_NEAR(got.outcome.history[i].mean, expected.outcome.history[i].mean,
                    62 * 0x1p-53 * std::abs(expected.outcome.history[i].best * 32))
            << i;
    }
}

TEST_F(ranks_optimize, any_number_ends_with_the_parameters_of_one) {
    for (const MakeTask& make : small_tasks()) {
        ASSERT_OK_AND_ASSIGN(const Searched expected, search(make(), few_generations()));
        EXPECT_EQ(expected.outcome.state_hash.size(), 32U);
        EXPECT_TRUE(expected.outcome.ranks.empty());
        for (const std::uint32_t count : {1U, 2U, 3U}) {
            SCOPED_TRACE(count);
            const auto results = search_on_ranks(count, make);
            for (const Result<Searched>& result : results) {
                ASSERT_OK(result);
                expect_same_on_ranks(*result, expected);
            }
            const OptimizeOutcome& first = results.front()->outcome;
            EXPECT_EQ(first.held_out_best, expected.outcome.held_out_best);
            if (count == 1) continue;
            ASSERT_EQ(first.ranks.size(), count);
            std::uint64_t members = 0;
            for (const evolve::RankShare& share : first.ranks) members += share.members;
            EXPECT_EQ(members, 6U * 32);
            // Whatever the system, a rank is told of 16 pairs in all and of agreements.
            EXPECT_LE(first.history.front().traffic.received_bytes, 800U * (count - 1));
            EXPECT_EQ(to_json(first)["ranks"].size(), count);
            EXPECT_TRUE(to_json(first.history.front()).contains("received_bytes"));
        }
    }
}

/// Every rank draws the same examples; only the first has those that are held out, and says which mean is kept.
TEST_F(ranks_optimize, steps_over_some_of_the_examples_are_shared) {
    for (const bool holds_out : {true, false}) {
        SCOPED_TRACE(holds_out);
        const auto some = [&](OptimizeOptions& options, std::uint32_t /*rank*/) {
            options.examples_per_generation = 3;
            options.held_out_every = 2;
            if (!holds_out) options.held_out = {};
        };
        Task task = xor_task();
        task.system.use(yolk::testing::first_device().dispatcher);
        const std::vector<Example> held_out(task.examples.begin(), task.examples.begin() + 2);
        OptimizeOptions options = few_generations();
        options.held_out = held_out;
        some(options, 0);
        ASSERT_OK_AND_ASSIGN(const Searched expected, optimized(task, options));
        const auto results = search_on_ranks(
            holds_out ? 3 : 2, [] { return xor_task(); }, some);
        for (const Result<Searched>& result : results) {
            ASSERT_OK(result);
            expect_same_on_ranks(*result, expected);
        }
        EXPECT_EQ(results.front()->outcome.held_out_best, expected.outcome.held_out_best);
    }
}

TEST_F(ranks_optimize, float_rules_take_the_state_of_the_first_rank) {
    const auto results = search_on_ranks(
        2, [] { return xor_task(); },
        [](OptimizeOptions& options, std::uint32_t) {
            options.evolution.fitness = FitnessRule::ZScore;
            options.evolution.determinism = Determinism::Fast;
        });
    ASSERT_OK(results[0]);
    ASSERT_OK(results[1]);
    EXPECT_EQ(results[0]->values, results[1]->values);
    EXPECT_GT(results[0]->outcome.best_reward, results[0]->outcome.start_reward);
}

TEST_F(ranks_optimize, a_budget_is_of_all_and_any_rank_ends_the_search) {
    const auto limited = [](OptimizeOptions& options, std::uint32_t) { options.metric_budget = 100; };
    OptimizeOptions options = few_generations();
    options.metric_budget = 100;
    ASSERT_OK_AND_ASSIGN(const Searched alone, search(xor_task(), options));
    EXPECT_EQ(alone.outcome.stopped_by, "budget");
    for (const Result<Searched>& result : search_on_ranks(
             2, [] { return xor_task(); }, limited)) {
        ASSERT_OK(result);
        expect_same_on_ranks(*result, alone);
        EXPECT_EQ(result->outcome.stopped_by, "budget");
    }
    const auto second_stops = [](OptimizeOptions& o, std::uint32_t rank) {
        o.on_generation = [rank](const GenerationReport& report) { return rank == 0 || report.generation < 2; };
    };
    for (const Result<Searched>& result : search_on_ranks(
             2, [] { return xor_task(); }, second_stops)) {
        ASSERT_OK(result);
        EXPECT_EQ(result->outcome.generations, 3U);
        EXPECT_EQ(result->outcome.stopped_by, "caller");
    }
}

/// A search of the caller's own, to whom all rewards are known on every rank.
class AsksTwice final : public Search {
   public:
    [[nodiscard]] std::string name() const override { return "twice"; }
    [[nodiscard]] std::uint64_t candidates_per_generation(const OptimizeOptions&) const override { return 5; }
    [[nodiscard]] Result<void> run(Objective& objective) override {
        const std::vector<float>& mean = objective.space().mean;
        std::vector<float> points;
        for (int i = 0; i < 5; ++i) {
            for (const float value : mean) points.push_back(value + 0.1F * static_cast<float>(i));
        }
        YOLK_TRY(rewards, objective.evaluate(points, 5));
        if (!objective.report({.generation = 0, .best = rewards.front(), .unperturbed = rewards.front()}, mean))
            return {};
        const Perturbations around{.table = objective.space().table,
                                   .mean = mean,
                                   .when = {.seed = 3, .sigma = 0.1F},
                                   .first_member = -1,
                                   .members = 7};
        YOLK_TRY(const std::vector<double> more, objective.evaluate(around));
        rewards.insert(rewards.end(), more.begin(), more.end());
        return {};
    }
    std::vector<double> rewards;
};

TEST_F(ranks_optimize, searches_of_the_callers_own_are_shared) {
    AsksTwice one;
    OptimizeOptions options = few_generations();
    options.search = &one;
    ASSERT_OK_AND_ASSIGN(const Searched alone, search(temperature_task(), options));
    std::array<AsksTwice, 2> searches;
    const auto results = search_on_ranks(
        2, [] { return temperature_task(); },
        [&](OptimizeOptions& o, std::uint32_t rank) { o.search = &searches[rank]; });
    for (std::size_t rank = 0; rank < 2; ++rank) {
        ASSERT_OK(results[rank]);
        expect_same_on_ranks(*results[rank], alone);
        EXPECT_EQ(searches[rank].rewards, one.rewards);
    }
}

TEST_F(ranks_optimize, what_differs_is_refused_on_all) {
    const auto expect_refused = [](const std::vector<Result<Searched>>& results, const std::string& words) {
        for (const Result<Searched>& result : results) EXPECT_TRUE(expect_error(result, ErrorKind::BadInput, words));
    };
    const auto xor_system = [] { return xor_task(); };
    expect_refused(
        search_on_ranks(2, xor_system,
                        [](OptimizeOptions& o, std::uint32_t rank) { o.evolution.sigma = rank == 0 ? 0.1F : 0.2F; }),
        "The sigma of rank 1 is 0.2; that of rank 0 is 0.1.");
    expect_refused(
        search_on_ranks(2, xor_system, [](OptimizeOptions& o, std::uint32_t rank) { o.generations = 3 + rank; }),
        "The generations of rank 1 is 4; that of rank 0 is 3.");
    expect_refused(
        search_on_ranks(2, xor_system,
                        [](OptimizeOptions& o, std::uint32_t rank) { o.examples_per_generation = 2 + rank; }),
        "The examples per step of rank 1 is 3; that of rank 0 is 2.");
    expect_refused(
        search_on_ranks(3, xor_system, [](OptimizeOptions& o, std::uint32_t) { o.evolution.population = 4; }),
        "There are 3 ranks, but a population of 4 has 2 pairs.");
    std::atomic<int> made{0};
    expect_refused(search_on_ranks(2,
                                   [&made] {
                                       Task task = xor_task();
                                       if (made++ == 0) task.examples.pop_back();
                                       return task;
                                   }),
                   "The hash of the examples of rank 1");
}

TEST_F(ranks_optimize, derivatives_are_refused_on_all) {
    for (const std::vector<std::string>& groups : {std::vector<std::string>{}, std::vector<std::string>{"hidden"}}) {
        for (const Result<Searched>&result : search_on_ranks(
                 2, [] { return xor_task(); },
                 [&](OptimizeOptions&o, std::uint32_t) { o.gradient.emplace().groups = groups; })) {
            EXPECT_TRUE(
                expect_error(result, ErrorKind::BadInput,
                             "Derivatives are taken on one device by one process; here are several ranks. Leave "
                             "out the other ranks, or the gradient."));
        }
    }
}

/// Two devices in each rank, one of which computes wrongly: both ranks go back together.
TEST_F(ranks_optimize, an_audit_in_one_rank_takes_all_back) {
    ASSERT_OK_AND_ASSIGN(const Searched expected, search(rotation_task(), few_generations(12)));
    ASSERT_OK_AND_ASSIGN(const Device right,
                         mortal_device(yolk::testing::other_device_name()));  // before any faults: it stays right
    std::uint32_t found = 0;
    for (std::uint64_t seed = 1; found < 2 && seed <= 40; ++seed) {  // a busy machine may give it nothing that is drawn
        testing::FaultInjector faults;
        ASSERT_OK_AND_ASSIGN(const Device wrong, mortal_device(yolk::testing::first_device_name()));
        std::array<std::string, 2> notices;
        const evolve::DevicePoolOptions audited{.audit = 0.2, .seed = seed};
        ASSERT_OK_AND_ASSIGN(evolve::DevicePool first, pool_of({one_device(), another_device()}, notices[0], audited));
        ASSERT_OK_AND_ASSIGN(evolve::DevicePool second, pool_of({wrong, right}, notices[1], audited));
        faults.only_on_device(1);            // of those made since: `wrong`
        faults.spoil_multiplications(true);  // after its probe
        std::vector<Result<Searched>> results(2, failed_work("not run"));
        yolk::testing::on_ranks<evolve::Exchange>(2, [&](evolve::Exchange& exchange) {
            Task task = rotation_task();
            task.system.use(evolve::Devices(exchange.rank() == 0 ? first : second).with(exchange));
            OptimizeOptions options = few_generations(12);
            results[exchange.rank()] = optimized(task, options);
        });
        if (second.is_used(0)) continue;  // not drawn before the end
        for (const Result<Searched>& result : results) {
            ASSERT_OK(result);
            EXPECT_EQ(result->values, expected.values);
            EXPECT_EQ(result->outcome.best_reward, expected.outcome.best_reward);
        }
        EXPECT_THAT(notices[1], HasSubstr("It computes wrongly"));
        ++found;
    }
    EXPECT_EQ(found, 2U);
}

}  // namespace
}  // namespace yolk::hyper
