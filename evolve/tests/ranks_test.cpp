// SPDX-License-Identifier: Apache-2.0
// Ranks in step: shares, agreements, and whole generations over devices of two vendors. Ranks are threads here; over
// MPI they are in cli/tests/ranks_test.cpp.
#include "yolk/internal/evolve/ranks.hpp"

#include <gtest/gtest.h>

#include <array>
#include <mutex>
#include <numeric>

#include "pool_fixtures.hpp"
#include "yolk/internal/evolve/rank_team.hpp"
#include "yolk/internal/testing/device_test.hpp"
#include "yolk/internal/testing/thread_exchange.hpp"

namespace yolk::evolve {
namespace {

using ::yolk::testing::expect_error;

TEST(ranks, shares_follow_rates_and_are_the_population) {
    for (const std::uint32_t unit : {1U, 2U}) {
        for (const std::uint32_t units : {3U, 4U, 17U, 1U << 19U}) {
            for (const auto& rates : {std::vector<double>{1, 1, 1}, {1, 0, 1000}, {1e-9, 1e9, 3}, {70, 1, 1}}) {
                const std::vector<MemberRange> shares = share_members(units * unit, unit, rates);
                ASSERT_EQ(shares.size(), rates.size());
                std::uint32_t next = 0;
                for (const MemberRange& share : shares) {
                    EXPECT_EQ(share.first, next);
                    EXPECT_GE(share.count, unit);
                    EXPECT_EQ(share.count % unit, 0U);
                    next += share.count;
                }
                EXPECT_EQ(next, units * unit);
            }
        }
    }
    const std::vector<MemberRange> shares = share_members(1000, 2, std::vector<double>{3, 1});
    EXPECT_NEAR(shares[0].count, 750, 4);
}

TEST(ranks, more_than_pairs_are_refused) {
    EXPECT_TRUE(check_ranks(4, 8, true).has_value());
    EXPECT_TRUE(expect_error(check_ranks(5, 8, true), ErrorKind::BadInput,
                             "There are 5 ranks, but a population of 8 has 4 pairs."));
    EXPECT_TRUE(check_ranks(8, 8, false).has_value());
}

TEST(ranks, an_error_of_one_is_everyones) {
    testing::on_ranks<Exchange>(3, [](Exchange& exchange) {
        EXPECT_TRUE(agree(exchange, {}).has_value());
        EXPECT_FALSE(exchange.ends_together());
        const Result<void> mine =
            exchange.rank() == 1 ? Result<void>(unsupported("This device is not exact.")) : Result<void>();
        EXPECT_TRUE(expect_error(agree(exchange, mine), ErrorKind::Unsupported, "Rank 1: This device is not exact."));
        EXPECT_TRUE(exchange.ends_together());
    });
}

TEST(ranks, one_that_has_left_is_not_waited_for) {
    testing::on_ranks<Exchange>(3, [](Exchange& exchange) {
        EXPECT_TRUE(agree(exchange, {}).has_value());
        if (exchange.rank() == 1) return;
        EXPECT_TRUE(expect_error(agree(exchange, {}), ErrorKind::Failed, "Rank 1 has left."));
        if (exchange.rank() == 0) return;
        EXPECT_TRUE(expect_error(agree(exchange, {}), ErrorKind::Failed, "Rank 1 has left."));
    });
}

TEST(ranks, a_setting_that_differs_is_named) {
    testing::on_ranks<Exchange>(3, [](Exchange& exchange) {
        const NamedValues same{{"version", "1"}, {"sigma", "0.1"}};
        EXPECT_TRUE(compare_settings(exchange, same).has_value());
        const NamedValues mine{{"version", "1"}, {"sigma", exchange.rank() == 2 ? "0.2" : "0.1"}};
        EXPECT_TRUE(expect_error(compare_settings(exchange, mine), ErrorKind::BadInput,
                                 "The sigma of rank 2 is 0.2; that of rank 0 is 0.1."));
    });
}

/// Each rank's state is told, and looked at by all.
Result<void> told_and_checked(RankTeam& team, const std::string& digest, const std::string& device,
                              std::uint32_t generation) {
    YOLK_TRY(const std::vector<RankTeam::State> states,
             team.after_update(RankTeam::State{.digest = digest, .device = device}));
    return team.check(states, generation);
}

TEST(ranks, a_state_that_differs_is_named_with_its_device) {
    testing::on_ranks<Exchange>(3, [](Exchange& exchange) {
        Result<RankTeam> team = RankTeam::create(exchange, {.population = 8});
        ASSERT_TRUE(team.has_value());
        EXPECT_TRUE(told_and_checked(*team, "abc", "device", 6).has_value());
        const std::string digest = exchange.rank() == 0 ? "def" : "abc";
        EXPECT_TRUE(expect_error(
            told_and_checked(*team, digest, "device " + std::to_string(exchange.rank()), 7), ErrorKind::Failed,
            "Rank 0 with device 0 has another state after generation 7: its digest is def, that of 2 of 3 ranks abc."));
    });
}

/// What a run comes to on a rank: its states, and what its ranks evaluated in all.
struct RankRun {
    std::vector<std::string> hashes{};
    std::uint64_t evaluations = 0, members = 0;
};

Result<RankRun> run_on(const Device& device, Exchange& exchange, FitnessRule rule) {
    EvolutionOptions options{.population = 38, .rank = 2, .fitness = rule, .optimizer = OptimizerRule::Momentum};
    if (!is_integer_rule(rule)) options.determinism = Determinism::Fast;
    YOLK_TRY(DevicePool pool, DevicePool::create(std::span(&device, 1), {.determinism = options.determinism}));
    PoolParts parts;
    YOLK_TRY(parts.parameters, trained_parameters(layered_table(2), options));
    parts.initial.assign(parts.parameters.element_count(), 0.25F);
    parts.members = [](const Device*, Dispatcher*) -> Result<std::unique_ptr<MemberEvaluator>> {
        return host_members(&score_on_host);
    };
    // Other tiles add floats in another order.
    if (exchange.rank() == 1) parts.config.es_update = EsUpdateConfig{.pairs_per_slice = 1};
    YOLK_TRY(Evolution run, Evolution::create(Devices(pool).with(exchange), std::move(parts), options));
    RankRun made;
    for (int generation = 0; generation < 4; ++generation) {
        YOLK_TRY(const GenerationSummary summary, run.step());
        YOLK_TRY(const std::string hash, run.state_hash());
        made.hashes.push_back(hash);
        made.evaluations += summary.evaluations;
        for (const RankShare& share : run.rank_shares()) made.members += share.members;
    }
    return made;
}

TEST(ranks, on_devices_of_two_vendors_have_the_states_of_one) {
    // One for each rank, as on different machines.
    ASSERT_OK_AND_ASSIGN(const Device third, probed_device(testing::first_device_name()));
    const std::array<const Device*, 3> devices{&testing::first_device().device, &testing::other_device().device,
                                               &third};
    for (const FitnessRule rule : {FitnessRule::PairDifference, FitnessRule::CentredRank, FitnessRule::ZScore}) {
        SoloExchange alone;
        ASSERT_OK_AND_ASSIGN(const RankRun expected, run_on(*devices[0], alone, rule));
        testing::on_ranks<Exchange>(3, [&](Exchange& exchange) {
            const Result<RankRun> run = run_on(*devices[exchange.rank()], exchange, rule);
            ASSERT_TRUE(run.has_value()) << run.error().message;
            EXPECT_EQ(run->hashes, expected.hashes);
            EXPECT_EQ(run->evaluations, 4U * 38);
            EXPECT_EQ(run->members, 4U * 38);
        });
    }
}

TEST(ranks, have_the_scores_of_their_own_members) {
    const std::array<const Device*, 2> devices{&testing::first_device().device, &testing::other_device().device};
    testing::on_ranks<Exchange>(2, [&](Exchange& exchange) {
        const EvolutionOptions options{.population = 8};
        ASSERT_OK_AND_ASSIGN(DevicePool pool, DevicePool::create(std::span(devices[exchange.rank()], 1)));
        PoolParts parts = host_scored_parts(options, [](std::size_t) { return host_pairs(); });
        ASSERT_OK_AND_ASSIGN(Evolution run, Evolution::create(Devices(pool).with(exchange), std::move(parts), options));
        ASSERT_OK(run.step());
        EXPECT_TRUE(expect_error(run.scores(), ErrorKind::BadInput, "of 2 ranks"));
    });
}

}  // namespace
}  // namespace yolk::evolve
