// SPDX-License-Identifier: Apache-2.0
// Members dealt to workers whose time is simulated: no thread, no clock.
#include "yolk/evolve/member_dealer.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <limits>
#include <numeric>

namespace yolk::evolve {
namespace {

using ::testing::Each;

constexpr double kNever = std::numeric_limits<double>::infinity();

/// Workers with a rate, a cost per chunk, and perhaps a time at which they fail.
struct SimulatedWorker {
    double rate = 1000.0;  // members per second
    double per_chunk = 0.0;
    double fails_at = kNever;
    double busy = 0.0;
    double free_at = 0.0;
    std::uint32_t chunks = 0;
    std::optional<DealtChunk> chunk{};
};

struct Simulation {
    std::vector<SimulatedWorker> workers;
    std::vector<std::uint32_t> evaluated{}, audited{};  // by member
    double end = 0.0;

    void run(MemberDealer& dealer, std::uint32_t members) {
        evaluated.assign(members, 0);
        audited.assign(members, 0);
        double now = 0.0;
        while (!dealer.finished() && !dealer.stuck()) {
            for (std::size_t i = 0; i < workers.size(); ++i) start(dealer, i, now);
            const auto next = std::ranges::min_element(
                workers, {}, [](const SimulatedWorker& worker) { return worker.chunk ? worker.free_at : kNever; });
            ASSERT_TRUE(next->chunk.has_value()) << "nobody works, and it is not finished";
            now = next->free_at;
            finish(dealer, static_cast<std::size_t>(next - workers.begin()), now);
        }
        end = now;
    }
    void start(MemberDealer& dealer, std::size_t i, double now) {
        SimulatedWorker& worker = workers[i];
        if (worker.chunk) return;
        worker.chunk = dealer.next(i);
        if (!worker.chunk) return;
        worker.free_at = now + worker.per_chunk + worker.chunk->members.count / worker.rate;
        worker.busy += worker.free_at - now;
        ++worker.chunks;
    }
    void finish(MemberDealer& dealer, std::size_t i, double now) {
        SimulatedWorker& worker = workers[i];
        const DealtChunk chunk = *std::exchange(worker.chunk, std::nullopt);
        if (now >= worker.fails_at) return dealer.failed(i);
        std::vector<std::uint32_t>& counts = chunk.audits ? audited : evaluated;
        EXPECT_NE(chunk.audits, i) << "a worker audits itself";
        for (std::uint32_t m = 0; m < chunk.members.count; ++m) ++counts[chunk.members.first + m];
        dealer.done(i, worker.per_chunk + chunk.members.count / worker.rate);
    }
};

std::vector<double> unknown(std::size_t workers) { return std::vector<double>(workers, 0.0); }

TEST(member_dealer, every_member_is_dealt_once_in_whole_pairs) {
    for (const std::uint32_t members : {2U, 4U, 34U, 4096U, 65536U}) {
        Simulation simulation{.workers = {{.rate = 10000.0}, {.rate = 3000.0}, {.rate = 70.0}}};
        MemberDealer dealer({.first = 0, .count = members}, unknown(3), {});
        simulation.run(dealer, members);
        EXPECT_THAT(simulation.evaluated, Each(1U)) << members;
    }
}

TEST(member_dealer, nothing_to_deal_is_finished) {
    const MemberDealer dealer({}, unknown(2), {});
    EXPECT_TRUE(dealer.finished());
}

TEST(member_dealer, chunks_are_whole_granules_and_no_larger_than_allowed) {
    MemberDealer dealer({.first = 100, .count = 999}, std::vector{5e6, 1e6},
                        {.granularity = 3, .largest_chunk = 100, .least_seconds = 1e-6});
    std::uint32_t dealt = 0;
    while (const std::optional<DealtChunk> chunk = dealer.next(0)) {
        EXPECT_LE(chunk->members.count, 100U);
        EXPECT_EQ((chunk->members.first - 100) % 3, 0U);
        EXPECT_EQ(chunk->members.count % 3, 0U);
        dealt += chunk->members.count;
        dealer.done(0, chunk->members.count / 5e6);
    }
    EXPECT_EQ(dealt, 999U);
}

TEST(member_dealer, rates_within_four_to_one_add_up) {
    for (const double ratio : {1.0, 2.0, 4.0}) {
        Simulation simulation{
            .workers = {{.rate = 400000.0, .per_chunk = 0.0003}, {.rate = 400000.0 / ratio, .per_chunk = 0.0003}}};
        MemberDealer dealer({.first = 0, .count = 65536}, std::vector{400000.0, 400000.0 / ratio}, {});
        simulation.run(dealer, 65536);
        const double ideal = 65536 / (400000.0 + 400000.0 / ratio);
        EXPECT_LT(simulation.end, ideal * 1.08) << ratio;
        for (const SimulatedWorker& worker : simulation.workers) EXPECT_GT(worker.busy, 0.9 * simulation.end) << ratio;
    }
}

TEST(member_dealer, a_slow_worker_holds_nothing_up_by_more_than_a_chunk) {
    Simulation simulation{.workers = {{.rate = 700000.0}, {.rate = 10000.0}}};
    MemberDealer dealer({.first = 0, .count = 65536}, std::vector{700000.0, 10000.0}, {});
    simulation.run(dealer, 65536);
    EXPECT_LT(simulation.end, 65536 / 700000.0 + 0.002);
}

TEST(member_dealer, a_worker_too_slow_for_what_is_left_gets_nothing) {
    MemberDealer dealer({.first = 0, .count = 64}, std::vector{1e6, 10.0}, {});
    EXPECT_FALSE(dealer.next(1).has_value());
    EXPECT_TRUE(dealer.next(0).has_value());
}

TEST(member_dealer, equal_workers_never_all_refuse) {
    for (const std::uint32_t members : {1U, 2U, 3U, 5U}) {
        Simulation simulation{.workers = {{.rate = 100.0}, {.rate = 100.0}, {.rate = 100.0}}};
        MemberDealer dealer({.first = 0, .count = members}, std::vector{100.0, 100.0, 100.0}, {.granularity = 1});
        simulation.run(dealer, members);
        EXPECT_THAT(simulation.evaluated, Each(1U));
    }
}

TEST(member_dealer, unknown_rates_are_found_within_a_generation) {
    Simulation simulation{
        .workers = {{.rate = 900000.0, .per_chunk = 0.0002}, {.rate = 300000.0, .per_chunk = 0.0002}}};
    MemberDealer dealer({.first = 0, .count = 65536}, unknown(2), {});
    simulation.run(dealer, 65536);
    EXPECT_NEAR(dealer.rate(0) / dealer.rate(1), 3.0, 0.6);
    EXPECT_LT(simulation.end, 1.25 * 65536 / 1200000.0);
}

TEST(member_dealer, what_a_failed_worker_held_is_dealt_again) {
    Simulation simulation{.workers = {{.rate = 1000.0}, {.rate = 1000.0, .fails_at = 1.0}}};
    MemberDealer dealer({.first = 0, .count = 8192}, unknown(2), {});
    simulation.run(dealer, 8192);
    EXPECT_THAT(simulation.evaluated, Each(1U));
    EXPECT_FALSE(dealer.stuck());
}

TEST(member_dealer, without_workers_it_is_stuck) {
    MemberDealer dealer({.first = 0, .count = 8}, unknown(2), {});
    ASSERT_TRUE(dealer.next(0).has_value());
    dealer.failed(0);
    EXPECT_FALSE(dealer.stuck());
    dealer.failed(1);
    EXPECT_TRUE(dealer.stuck());
    EXPECT_FALSE(dealer.finished());
}

TEST(member_dealer, everything_is_audited_once_where_that_is_asked) {
    Simulation simulation{.workers = {{.rate = 1000.0}, {.rate = 50.0}}};
    MemberDealer dealer({.first = 0, .count = 4096}, unknown(2), {.audit = 1.0});
    simulation.run(dealer, 4096);
    EXPECT_THAT(simulation.evaluated, Each(1U));
    EXPECT_THAT(simulation.audited, Each(1U));
    EXPECT_EQ(dealer.unaudited(), 0U);
}

TEST(member_dealer, audits_follow_the_share_and_the_seed) {
    std::uint64_t total = 0;
    std::vector<std::vector<std::uint32_t>> drawn;
    for (const std::uint64_t seed : {1ULL, 1ULL, 2ULL, 3ULL, 4ULL, 5ULL}) {
        Simulation simulation{.workers = {{.rate = 1000.0}, {.rate = 900.0}}};
        MemberDealer dealer({.first = 0, .count = 65536}, std::vector{1000.0, 900.0},
                            {.largest_chunk = 64, .audit = 0.1, .audit_seed = seed});
        simulation.run(dealer, 65536);
        total += std::accumulate(simulation.audited.begin(), simulation.audited.end(), std::uint64_t{0});
        drawn.push_back(simulation.audited);
    }
    EXPECT_EQ(drawn[0], drawn[1]);
    EXPECT_NE(drawn[0], drawn[2]);
    EXPECT_NEAR(static_cast<double>(total) / (6 * 65536.0), 0.1, 0.03);
}

TEST(member_dealer, audits_that_nobody_can_make_are_counted) {
    MemberDealer dealer({.first = 0, .count = 100}, std::vector{1.0, -1.0}, {.audit = 1.0});
    ASSERT_TRUE(dealer.next(0).has_value());
    dealer.done(0, 1.0);
    EXPECT_TRUE(dealer.finished());
    EXPECT_EQ(dealer.unaudited(), 100U);
    // The auditor is lost before it comes to its audits.
    MemberDealer second({.first = 0, .count = 100}, std::vector{1.0, 1.0}, {.largest_chunk = 100, .audit = 1.0});
    while (second.next(0)) second.done(0, 1.0);
    EXPECT_FALSE(second.finished());
    second.failed(1);
    EXPECT_TRUE(second.finished());
    EXPECT_EQ(second.unaudited(), 100U);
}

TEST(member_dealer, all_that_a_distrusted_worker_did_is_dealt_again) {
    MemberDealer dealer({.first = 0, .count = 1000}, std::vector{1.0, 1.0}, {.largest_chunk = 100});
    std::vector<std::uint32_t> by_second;
    for (int i = 0; i < 3; ++i) {
        const std::optional<DealtChunk> chunk = dealer.next(1);
        ASSERT_TRUE(chunk.has_value());
        for (std::uint32_t m = 0; m < chunk->members.count; ++m) by_second.push_back(chunk->members.first + m);
        dealer.done(1, 1.0);
    }
    dealer.distrust(1);
    EXPECT_FALSE(dealer.next(1).has_value());
    std::vector<std::uint32_t> counts(1000, 0);
    while (const std::optional<DealtChunk> chunk = dealer.next(0)) {
        for (std::uint32_t m = 0; m < chunk->members.count; ++m) ++counts[chunk->members.first + m];
        dealer.done(0, 1.0);
    }
    EXPECT_TRUE(dealer.finished());
    EXPECT_THAT(counts, Each(1U));
    EXPECT_FALSE(by_second.empty());
}

}  // namespace
}  // namespace yolk::evolve
