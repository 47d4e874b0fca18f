// SPDX-License-Identifier: Apache-2.0
// Members dealt to workers whose time is simulated: no thread, no clock.
#include "yolk/internal/evolve/member_dealer.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
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

    [[nodiscard]] double sum_of_rates() const {
        double sum = 0.0;
        for (const SimulatedWorker& worker : workers) sum += worker.rate;
        return sum;
    }

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
    void reset() {
        for (SimulatedWorker& worker : workers) worker.busy = worker.free_at = 0.0, worker.chunks = 0;
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

/// Generations of a pool: what is known of each worker goes from one to the next, as DevicePool has it.
struct SimulatedRun {
    Simulation simulation;
    std::vector<double> rates;
    std::vector<double> waited = std::vector<double>(rates.size(), 0.0);
    double seconds = 0.0;

    void generation(std::uint32_t members) {
        simulation.reset();
        MemberDealer dealer({.first = 0, .count = members}, rates, {}, waited);
        simulation.run(dealer, members);
        seconds += simulation.end;
        for (std::size_t i = 0; i < rates.size(); ++i) {
            rates[i] = dealer.rate(i);
            waited[i] = simulation.workers[i].chunks == 0 ? waited[i] + simulation.end : 0.0;
        }
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
    constexpr double kPerChunk = 0.0003;
    const DealerOptions options;
    // Of a chunk's time, which is least_seconds at least; and what the last chunks of two workers may end apart.
    const double overhead = kPerChunk / options.least_seconds;
    const double apart = options.least_seconds + kPerChunk;
    for (const double ratio : {1.0, 2.0, 4.0}) {
        Simulation simulation{.workers = {{.rate = 400000.0, .per_chunk = kPerChunk},
                                          {.rate = 400000.0 / ratio, .per_chunk = kPerChunk}}};
        MemberDealer dealer({.first = 0, .count = 65536}, std::vector{400000.0, 400000.0 / ratio}, {});
        simulation.run(dealer, 65536);
        const double ideal = 65536 / simulation.sum_of_rates();
        EXPECT_LE(simulation.end, ideal * (1.0 + overhead) + apart) << ratio;
        for (const SimulatedWorker& worker : simulation.workers)
            EXPECT_GE(worker.busy, simulation.end - apart) << ratio;
    }
}

TEST(member_dealer, a_slow_worker_holds_nothing_up_by_more_than_a_chunk) {
    Simulation simulation{.workers = {{.rate = 700000.0}, {.rate = 10000.0}}};
    MemberDealer dealer({.first = 0, .count = 65536}, std::vector{700000.0, 10000.0}, {});
    simulation.run(dealer, 65536);
    // What the slow one takes it ends before the fast one has done the rest.
    EXPECT_LT(simulation.end, 65536 / 700000.0);
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
    constexpr double kPerChunk = 0.0002;
    const DealerOptions options;
    Simulation simulation{
        .workers = {{.rate = 900000.0, .per_chunk = kPerChunk}, {.rate = 300000.0, .per_chunk = kPerChunk}}};
    MemberDealer dealer({.first = 0, .count = 65536}, unknown(2), options);
    simulation.run(dealer, 65536);
    // All chunks but the first are sized by a rate, so that their own cost is at most this part of the measured time.
    const double overhead = kPerChunk / options.least_seconds;
    EXPECT_NEAR(dealer.rate(0) / dealer.rate(1), 3.0, 3.0 * overhead);
    // The first chunks, of 64 members, cost each worker kPerChunk more.
    EXPECT_LT(simulation.end,
              65536 / simulation.sum_of_rates() * (1.0 + overhead) + options.least_seconds + 2 * kPerChunk);
}

/// Generations of 1 ms on the fast worker, which are too short for a chunk of the slow one. Each probe takes at most a
/// hundredth of the time since the last, so that the run takes at most 1 / .99 of the fast one's time alone.
TEST(member_dealer, many_short_generations_are_the_fast_workers) {
    for (const double ratio : {70.0, 1000.0}) {
        SCOPED_TRACE(ratio);
        SimulatedRun run{.simulation = {.workers = {{.rate = 1e6}, {.rate = 1e6 / ratio}}},
                         .rates = {1e6, 1e6 / ratio}};
        constexpr int kGenerations = 20000;
        const double probe = std::max(16.0, DealerOptions{}.least_seconds * 1e6 / ratio);
        std::uint32_t probes = 0;
        for (int generation = 0; generation < kGenerations; ++generation) {
            run.generation(1000);
            ASSERT_LE(run.simulation.workers[1].chunks, 1U);
            probes += run.simulation.workers[1].chunks;
            ASSERT_LE(run.simulation.workers[1].busy, (probe + 2) * ratio / 1e6) << "more than a probe, in whole pairs";
            ASSERT_NEAR(run.rates[1], 1e6 / ratio, 1.0) << "believed to be what was not measured";
            ASSERT_NEAR(run.rates[0], 1e6, 1.0);
        }
        EXPECT_LE(run.seconds, kGenerations * 0.001 / 0.99);
        EXPECT_GE(probes, 5U);
    }
}

/// Two probes are enough, though what a chunk costs itself hides most of the speed from the first one.
TEST(member_dealer, a_worker_that_became_faster_is_found) {
    SimulatedRun run{
        .simulation = {.workers = {{.rate = 1e6, .per_chunk = 0.0003}, {.rate = 1e6 / 70, .per_chunk = 0.0003}}},
        .rates = {1e6, 1e6 / 70}};
    for (int generation = 0; generation < 300; ++generation) run.generation(1000);
    run.simulation.workers[1].rate = 1e7;
    const double since = run.seconds;
    while (run.rates[1] < run.rates[0] && run.seconds < 10.0) run.generation(1000);
    // Each of the two takes .004 s by the rate so far, in whole pairs, which is a hundredth of the time before it.
    EXPECT_LE(run.seconds - since, 2 * 100 * 0.0042);
    run.generation(1000);
    EXPECT_EQ(run.simulation.workers[0].chunks, 0U);
}

TEST(member_dealer, a_probe_waits_until_a_hundredth_of_the_time_pays_for_it) {
    const MemberRange all{.first = 0, .count = 64};
    const std::vector rates{1e6, 1000.0};  // 16 members take the second one 16 ms
    MemberDealer early(all, rates, {}, std::vector{0.0, 1.59});
    EXPECT_FALSE(early.next(1).has_value());
    MemberDealer due(all, rates, {}, std::vector{0.0, 1.61});
    const std::optional<DealtChunk> probe = due.next(1);
    ASSERT_TRUE(probe.has_value());
    EXPECT_EQ(probe->members.count, 16U);
    due.done(1, 0.001);
    EXPECT_DOUBLE_EQ(due.rate(1), 16000.0) << "what was measured before it waited counts no more";
    EXPECT_FALSE(due.next(1).has_value()) << "the next one has to wait as long";
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
    for (const std::uint64_t seed : {1ULL, 2ULL, 3ULL, 4ULL, 5ULL}) {
        Simulation simulation{.workers = {{.rate = 1000.0}, {.rate = 900.0}}};
        MemberDealer dealer({.first = 0, .count = 65536}, std::vector{1000.0, 900.0},
                            {.largest_chunk = 64, .audit = 0.1, .audit_seed = seed});
        simulation.run(dealer, 65536);
        total += std::accumulate(simulation.audited.begin(), simulation.audited.end(), std::uint64_t{0});
        drawn.push_back(simulation.audited);
    }
    EXPECT_NE(drawn[0], drawn[1]);
    // Five standard deviations of 5 * 1,024 draws, one for each piece of 64 members.
    const double deviation = std::sqrt(0.1 * 0.9 / (5 * 1024));
    EXPECT_NEAR(static_cast<double>(total) / (5 * 65536.0), 0.1, 5 * deviation);
    // The same members are drawn whoever evaluates them, in chunks of whatever size.
    Simulation other{.workers = {{.rate = 7e5}, {.rate = 1e4}, {.rate = 3e3}}};
    MemberDealer dealer({.first = 0, .count = 65536}, unknown(3), {.audit = 0.1, .audit_seed = 1});
    other.run(dealer, 65536);
    EXPECT_EQ(other.audited, drawn[0]);
}

/// At 70:1 nearly all is evaluated by the fast one, in chunks of up to half the members, and audited by the slow one.
TEST(member_dealer, an_audit_is_no_larger_than_a_piece) {
    Simulation simulation{.workers = {{.rate = 700000.0}, {.rate = 10000.0}}};
    MemberDealer dealer({.first = 0, .count = 65536}, std::vector{700000.0, 10000.0}, {.audit = 0.01, .audit_seed = 3});
    simulation.run(dealer, 65536);
    const auto drawn = static_cast<double>(std::ranges::count(simulation.audited, 1U));
    ASSERT_GT(drawn, 0.0);
    // The slow one audits while the fast one evaluates, after its first chunks; nothing of its own is in between.
    EXPECT_LE(simulation.end, 65536 / 700000.0 + drawn / 10000.0);
    EXPECT_LE(drawn, 65536 * 0.01 + 5 * 64 * std::sqrt(1024 * 0.01));
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
