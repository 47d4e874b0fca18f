// SPDX-License-Identifier: Apache-2.0
// A wrong device or worker on one of several ranks: all go back together, or the run ends and names it. Ranks are
// threads here.
#include <gtest/gtest.h>

#include <array>
#include <atomic>
#include <chrono>
#include <thread>

#include "pool_fixtures.hpp"
#include "yolk/internal/evolve/rank_team.hpp"
#include "yolk/internal/evolve/update_twin.hpp"
#include "yolk/internal/testing/fault_injector.hpp"
#include "yolk/internal/testing/thread_exchange.hpp"

namespace yolk::evolve {
namespace {

using ::yolk::testing::expect_error;

class ranks_audit : public ::testing::Test {
   protected:
    /// Before any fault injector, which can fail only devices that are made after it.
    void SetUp() override {
        static_cast<void>(one_device());
        static_cast<void>(another_device());
    }
    static const Device& one_device() { return testing::first_device().device; }
    static const Device& another_device() { return testing::other_device().device; }
};

/// Of one rank, until `generations` are done or an error. Hash of the state.
struct AuditedRank {
    std::vector<Device> devices{};
    DevicePoolOptions pool{};
    std::function<float(std::size_t worker, const HostQuestion& question)> spoil{};
    std::uint32_t went_back = 0;
    std::vector<bool> used{};
};

Result<std::string> run_rank(Exchange& exchange, AuditedRank& rank, const EvolutionOptions& options,
                             std::uint32_t generations) {
    rank.pool.on_drop = [](auto&) {};
    YOLK_TRY(DevicePool pool, DevicePool::create(rank.devices, rank.pool));
    PoolParts parts = host_scored_parts(options, [&](std::size_t worker) {
        return spoilt_pairs(
            [&rank, worker](const HostQuestion& question) { return rank.spoil ? rank.spoil(worker, question) : 0.0F; });
    });
    YOLK_TRY(Evolution run, Evolution::create(Devices(pool).with(exchange), std::move(parts), options));
    while (run.generations() < generations) {
        const std::uint32_t before = run.generations();
        YOLK_TRY(const GenerationSummary summary, run.step());
        EXPECT_EQ(summary.evaluations, options.population);
        rank.went_back += run.generations() <= before ? 1U : 0U;
    }
    for (std::size_t i = 0; i < pool.size(); ++i) rank.used.push_back(pool.is_used(i));
    return run.state_hash();
}

TEST_F(ranks_audit, all_go_back_where_one_finds_a_wrong_worker) {
    constexpr std::uint32_t kGenerations = 10;
    const EvolutionOptions options{.population = 16};
    ASSERT_OK_AND_ASSIGN(const auto expected, hashes_of_twin(options, kGenerations));
    // Ranks have devices of their own, as on different machines.
    ASSERT_OK_AND_ASSIGN(const Device one_again, probed_device(testing::first_device_name()));
    ASSERT_OK_AND_ASSIGN(const Device another_again, probed_device(testing::other_device_name()));
    std::uint32_t went_back = 0;
    for (std::uint64_t seed = 1; seed <= 8; ++seed) {
        const DevicePoolOptions pool{.audit = 0.3, .seed = seed};
        std::array<AuditedRank, 2> ranks{AuditedRank{.devices = {another_device(), one_device()}, .pool = pool},
                                         AuditedRank{.devices = {one_again, another_again}, .pool = pool}};
        ranks[1].spoil = [](std::size_t worker, const HostQuestion& question) {
            if (worker == 0) std::this_thread::sleep_for(std::chrono::milliseconds(1));
            return worker == 1 && question.when.generation >= 2 ? 1e9F : 0.0F;
        };
        std::array<std::string, 2> hashes;
        testing::on_ranks<Exchange>(2, [&](Exchange& exchange) {
            const Result<std::string> hash = run_rank(exchange, ranks[exchange.rank()], options, kGenerations);
            ASSERT_TRUE(hash.has_value()) << hash.error().message;
            hashes[exchange.rank()] = *hash;
        });
        EXPECT_EQ(hashes[0], hashes[1]);
        EXPECT_EQ(ranks[0].went_back, ranks[1].went_back);
        if (ranks[1].used.at(1)) continue;  // not found before the end
        EXPECT_EQ(hashes[0], expected.back()) << seed;
        went_back += ranks[0].went_back;
    }
    EXPECT_GE(went_back, 1U);
}

/// The update of generation 0 is audited, its members are not: the device's scores are in everyone's weights.
TEST_F(ranks_audit, what_a_device_scored_before_its_update_was_wrong_is_made_again_by_all) {
    constexpr double kAudit = 0.3;
    constexpr std::uint32_t kGenerations = 3;
    const EvolutionOptions options{.population = 8};
    ASSERT_OK_AND_ASSIGN(const auto expected, hashes_of_twin(options, kGenerations));
    const auto drawn = [](std::uint64_t seed, PhiloxCounter counter) {
        return static_cast<double>(philox4x32(counter, {static_cast<std::uint32_t>(seed), 0})[0]) * 0x1p-32 < kAudit;
    };
    std::uint64_t seed = 1;
    while (!is_update_audited(kAudit, seed, 0) || drawn(seed, {4, 0, 0, 0}) || drawn(seed, {6, 0, 0, 0})) ++seed;
    ASSERT_OK_AND_ASSIGN(const Device right,
                         probed_device(testing::first_device_name()));  // before faults: it stays right
    testing::FaultInjector faults;
    ASSERT_OK_AND_ASSIGN(const Device wrong, probed_device(testing::first_device_name()));
    faults.only_on_device(1);  // of those made since: `wrong`
    faults.spoil_multiplications(true);
    const DevicePoolOptions pool{.audit = kAudit, .seed = seed};
    std::atomic<std::uint32_t> spoilt = 0;
    std::array<AuditedRank, 2> ranks{AuditedRank{.devices = {another_device(), one_device()}, .pool = pool},
                                     AuditedRank{.devices = {wrong, right}, .pool = pool}};
    ranks[1].spoil = [&](std::size_t worker, const HostQuestion&) {
        if (worker == 0) {
            ++spoilt;
            return 1e9F;
        }
        // On a busy machine the wrong worker may wake late: half of the members wait for it.
        for (int i = 0; i < 20000 && spoilt == 0; ++i) std::this_thread::sleep_for(std::chrono::milliseconds(1));
        return 0.0F;
    };
    testing::on_ranks<Exchange>(2, [&](Exchange& exchange) {
        const Result<std::string> hash = run_rank(exchange, ranks[exchange.rank()], options, kGenerations);
        ASSERT_TRUE(hash.has_value()) << hash.error().message;
        EXPECT_EQ(*hash, expected.back());
    });
    EXPECT_GT(spoilt, 0U);
    EXPECT_FALSE(ranks[1].used.at(0));
}

TEST_F(ranks_audit, of_two_states_the_exact_twin_says_which_is_right) {
    testing::FaultInjector faults;
    ASSERT_OK_AND_ASSIGN(const Device wrong, probed_device(testing::first_device_name()));
    faults.only_on_device(1);  // of those made since: `wrong`
    faults.spoil_multiplications(true);
    for (const std::uint32_t wrong_rank : {0U, 1U}) {
        std::array<AuditedRank, 2> ranks;
        ranks[wrong_rank].devices = {wrong};
        ranks[1 - wrong_rank].devices = {another_device()};
        testing::on_ranks<Exchange>(2, [&](Exchange& exchange) {
            const Result<std::string> hash = run_rank(exchange, ranks[exchange.rank()], {.population = 8}, 3);
            EXPECT_TRUE(expect_error(hash, ErrorKind::Failed,
                                     "Rank " + std::to_string(wrong_rank) + " with " + wrong.info().name +
                                         " has another state after generation 0"));
            EXPECT_TRUE(expect_error(hash, ErrorKind::Failed, "the exact twin's is "));
        });
    }
}

TEST_F(ranks_audit, without_a_judge_it_is_open_which_of_two_states_is_right) {
    testing::on_ranks<Exchange>(2, [](Exchange& exchange) {
        ASSERT_OK_AND_ASSIGN(RankTeam team, RankTeam::create(exchange, {.population = 8}));
        const bool first = exchange.rank() == 0;
        ASSERT_OK_AND_ASSIGN(
            const std::vector<RankTeam::State> states,
            team.after_update(RankTeam::State{.digest = first ? "abc" : "def", .device = first ? "one" : "other"}));
        EXPECT_TRUE(expect_error(
            team.check(states, 7), ErrorKind::Failed,
            "The ranks have different states after generation 7, and it is open which is right: rank 0 with one has "
            "the digest abc, rank 1 with other has the digest def."));
    });
}

/// What one rank cannot do is an error of all.
TEST_F(ranks_audit, a_rank_that_cannot_go_back_ends_the_run_of_all) {
    constexpr double kAudit = 0.5;
    // A worker that is verified in each generation has spoilt nothing earlier.
    const auto drawn = [](std::uint64_t seed, std::uint64_t generation) {
        const std::uint64_t key = seed ^ generation << 32U;
        const std::uint32_t word =
            philox4x32({0, 0, 0, 0}, {static_cast<std::uint32_t>(key), static_cast<std::uint32_t>(key >> 32U)})[0];
        return static_cast<double>(word) * 0x1p-32 < kAudit;
    };
    std::uint64_t seed = 1;
    while (drawn(seed, 0) || drawn(seed, 1) || !drawn(seed, 2)) ++seed;
    std::array<AuditedRank, 2> ranks{
        AuditedRank{.devices = {one_device()}, .pool = {.audit = kAudit, .seed = seed, .host_workers = 1}},
        AuditedRank{.devices = {another_device()}}};
    // The right worker and the other rank are slow, so that the wrong worker is dealt members.
    const auto take_time = [] { std::this_thread::sleep_for(std::chrono::milliseconds(1)); };
    ranks[0].spoil = [&](std::size_t worker, const HostQuestion& question) {
        if (worker == 0) take_time();
        return worker == 1 && question.when.generation >= 2 ? 1e9F : 0.0F;
    };
    ranks[1].spoil = [&](std::size_t, const HostQuestion&) {
        take_time();
        return 0.0F;
    };
    testing::on_ranks<Exchange>(2, [&](Exchange& exchange) {
        EXPECT_TRUE(expect_error(run_rank(exchange, ranks[exchange.rank()], {.population = 64}, 8), ErrorKind::BadInput,
                                 "Rank 1: A device of another rank computed wrongly"));
    });
}

}  // namespace
}  // namespace yolk::evolve
