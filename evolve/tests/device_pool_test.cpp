// SPDX-License-Identifier: Apache-2.0
// One run over devices of two vendors and host workers: the bits of a single device, whatever fails on the way.
#include "yolk/internal/evolve/device_pool.hpp"
#include "yolk/internal/evolve/update_twin.hpp"

#include <gmock/gmock.h>

#include <array>
#include <chrono>
#include <cmath>
#include <thread>

#include "rollout_pool_fixtures.hpp"
#include "yolk/es_update.hpp"
#include "yolk/fitness.hpp"
#include "yolk/internal/testing/fault_injector.hpp"
#include "yolk/optimizer.hpp"
#include "yolk/twin.hpp"

namespace yolk::evolve {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;
using ::yolk::testing::expect_error;

class device_pool : public RolloutPoolTest {};

TEST_F(device_pool, two_vendors_give_the_bits_of_one) {
    ASSERT_OK_AND_ASSIGN(const Trail expected, undisturbed());
    for (const std::uint32_t host_workers : {0U, 1U}) {
        const std::array devices{another_device(), one_device()};
        ASSERT_OK_AND_ASSIGN(DevicePool pool, DevicePool::create(devices, {.host_workers = host_workers}));
        ASSERT_OK_AND_ASSIGN(Evolution run, Evolution::create(pool, pooled_parts(pooled_options()), pooled_options()));
        {
            ASSERT_OK_AND_ASSIGN(const Trail trail, follow(run));
            EXPECT_EQ(trail, expected);
        }
        ASSERT_EQ(run.shares().size(), 2 + host_workers);
        std::uint32_t members = 0;
        for (const WorkerShare& share : run.shares()) members += share.members;
        EXPECT_EQ(members, kPooled);
    }
}

TEST_F(device_pool, one_device_makes_the_whole_run) {
    ASSERT_OK_AND_ASSIGN(const Trail expected, undisturbed());
    ASSERT_OK_AND_ASSIGN(DevicePool pool, DevicePool::create(std::span(&another_device(), 1)));
    PoolParts parts = pooled_parts(pooled_options());
    const ParameterTable table = parts.parameters;
    parts.single = [table](const Device& device) { return rollout_evaluator(device, pooled_rollout(table, false)); };
    ASSERT_OK_AND_ASSIGN(Evolution run, Evolution::create(pool, std::move(parts), pooled_options()));
    {
        ASSERT_OK_AND_ASSIGN(const Trail trail, follow(run));
        EXPECT_EQ(trail, expected);
    }
    EXPECT_TRUE(run.shares().empty());
}

TEST_F(device_pool, logged_generations_repeat_the_run) {
    const std::array devices{another_device(), one_device()};
    ASSERT_OK_AND_ASSIGN(DevicePool pool, DevicePool::create(devices));
    ASSERT_OK_AND_ASSIGN(Evolution run, Evolution::create(pool, pooled_parts(pooled_options()), pooled_options()));
    ASSERT_OK_AND_ASSIGN(Evolution again, Evolution::create(pool, pooled_parts(pooled_options()), pooled_options()));
    for (int generation = 0; generation < kPoolGenerations; ++generation) {
        ASSERT_OK(run.step());
        ASSERT_OK_AND_ASSIGN(const ShapedGeneration shaped, run.shaped());
        ASSERT_OK(again.apply(shaped));
    }
    ASSERT_OK_AND_ASSIGN(const std::string hash, run.state_hash());
    ASSERT_OK_AND_ASSIGN(const std::string repeated, again.state_hash());
    EXPECT_EQ(hash, repeated);
}

/// In its first generation a device is sure of one chunk, which takes two calls that may fail; the lead makes more for
/// the update, in every generation.
TEST_F(device_pool, a_lost_device_is_dropped_and_the_bits_stay) {
    // A device that a busy machine made slow gets few chunks: the run goes on until the fault has struck.
    constexpr std::size_t kMostGenerations = 300;
    ASSERT_OK_AND_ASSIGN(const Trail expected, undisturbed(kMostGenerations));
    for (const std::uint64_t call : {1U, 2U, 3U, 4U, 9U}) {
        SCOPED_TRACE(call);
        testing::FaultInjector faults;
        ASSERT_OK_AND_ASSIGN(const Device mortal, mortal_device(testing::first_device_name()));
        const std::array devices{mortal, another_device()};
        std::string notices;
        ASSERT_OK_AND_ASSIGN(
            DevicePool pool,
            DevicePool::create(devices, {.on_drop = [&](const std::string& text) { notices += text; }}));
        ASSERT_OK_AND_ASSIGN(Evolution run, Evolution::create(pool, pooled_parts(pooled_options()), pooled_options()));
        faults.fail_nth_call(call, testing::FaultKind::DeviceLost);
        int without_it = 0;
        for (std::size_t g = 0; g < kMostGenerations && without_it < kPoolGenerations; ++g) {
            ASSERT_OK_AND_ASSIGN(const Trail trail, follow(run, static_cast<int>(g) + 1));
            ASSERT_EQ(trail.hashes.back(), expected.hashes[g]) << g;
            ASSERT_EQ(trail.policy_means.back(), expected.policy_means[g]) << g;
            ASSERT_EQ(trail.evaluations.back(), expected.evaluations[g]) << g;
            without_it += pool.in_use() == 1 ? 1 : 0;
        }
        EXPECT_EQ(without_it, kPoolGenerations) << faults.injected_into();
        EXPECT_EQ(pool.in_use(), 1U) << faults.injected_into();
        EXPECT_THAT(notices, HasSubstr("is dropped: "));
        EXPECT_THAT(notices, HasSubstr("1 of 2 devices goes on"));
        EXPECT_THAT(pool.losses(), HasSubstr("was dropped"));
    }
}

TEST_F(device_pool, a_hung_device_is_dropped_and_the_bits_stay) {
    ASSERT_OK_AND_ASSIGN(const Trail expected, undisturbed());
    testing::FaultInjector faults;
    ASSERT_OK_AND_ASSIGN(const Device mortal, mortal_device(testing::first_device_name()));
    const std::array devices{mortal, another_device()};
    // Long enough for what a driver compiles on a busy machine.
    ASSERT_OK_AND_ASSIGN(DevicePool pool,
                         DevicePool::create(devices, {.hang_limit = std::chrono::seconds(6), .on_drop = [](auto&) {}}));
    ASSERT_OK_AND_ASSIGN(Evolution run, Evolution::create(pool, pooled_parts(pooled_options()), pooled_options()));
    faults.hang_submissions(true);
    ASSERT_OK_AND_ASSIGN(const Trail trail, follow(run));
    EXPECT_EQ(trail, expected);
    EXPECT_EQ(pool.in_use(), 1U);
}

TEST_F(device_pool, without_a_device_left_it_says_why_each_was_dropped) {
    testing::FaultInjector faults;
    ASSERT_OK_AND_ASSIGN(const Device mortal, mortal_device(testing::first_device_name()));
    ASSERT_OK_AND_ASSIGN(DevicePool pool, DevicePool::create(std::span(&mortal, 1), {.on_drop = [](auto&) {}}));
    ASSERT_OK_AND_ASSIGN(Evolution run, Evolution::create(pool, pooled_parts(pooled_options()), pooled_options()));
    faults.fail_nth_call(2, testing::FaultKind::DeviceLost);
    const Result<Trail> trail = follow(run);
    EXPECT_TRUE(expect_error(trail, ErrorKind::DeviceLost, "No device of the pool is left."));
    EXPECT_TRUE(expect_error(trail, ErrorKind::DeviceLost, one_device().info().name));
}

TEST_F(device_pool, host_workers_alone_are_no_pool) {
    EXPECT_TRUE(expect_error(DevicePool::create({}, {.host_workers = 2}), ErrorKind::BadInput,
                             "A pool needs at least one device, which makes the update"));
    ASSERT_OK_AND_ASSIGN(DevicePool pool, DevicePool::create(std::span(&one_device(), 1),
                                                             {.host_workers = 1, .on_drop = [](const auto&) {}}));
    pool.drop(0, "It was unplugged.");
    const Result<std::size_t> lead = pool.lead();
    EXPECT_TRUE(expect_error(lead, ErrorKind::DeviceLost, "It was unplugged. The host workers that are left"));
    EXPECT_THAT(lead.error().message, Not(HasSubstr("host 0")));
}

/// Work that takes each worker its seconds per member; results are one byte each.
PooledWork slept_work(std::vector<double> seconds_per_member, std::uint32_t members, std::uint32_t generation) {
    return {.members = {.first = 0, .count = members},
            .generation = generation,
            .evaluate = [seconds = std::move(seconds_per_member)](
                            std::size_t worker, const MemberRange& part) -> Result<std::vector<std::byte>> {
                std::this_thread::sleep_for(std::chrono::duration<double>(seconds[worker] * part.count));
                return std::vector<std::byte>(part.count);
            },
            .keep = [](const MemberRange&, std::span<const std::byte>) {},
            .kept = [](const MemberRange& part) { return std::vector<std::byte>(part.count); }};
}

/// At 70:1 a generation is too short for the slow device's smallest chunk.
TEST_F(device_pool, many_short_generations_leave_a_slow_device_slow) {
    const std::array devices{another_device(), one_device()};
    ASSERT_OK_AND_ASSIGN(DevicePool pool, DevicePool::create(devices));
    constexpr int kGenerations = 200;
    // A machine that stands still for a moment makes the fast one seem slow: that may happen now and then, and one that
    // does it all the time gets further tries.
    constexpr int kTries = 5;
    std::uint32_t next = 0;
    for (int tried = 0; tried < kTries; ++tried) {
        int too_much = 0;
        int led_by_the_slow_one = 0;
        for (int generation = 0; generation < kGenerations; ++generation) {
            ASSERT_OK_AND_ASSIGN(const PooledResult result, pool.evaluate(slept_work({20e-6 * 70, 20e-6}, 64, next++)));
            ASSERT_OK_AND_ASSIGN(const std::size_t lead, pool.lead());
            too_much += result.shares[0].members > 16 || result.shares[0].rate > 1.0 / 20e-6 ? 1 : 0;
            led_by_the_slow_one += lead == 0 ? 1 : 0;
        }
        if (too_much <= kGenerations / 50 && led_by_the_slow_one <= kGenerations / 50 &&
            pool.rate(0) < pool.rate(1) / 4)
            return;
    }
    ADD_FAILURE() << "in none of " << kTries << " times " << kGenerations << " generations the slow one stayed slow";
}

/// Drivers compile in the first chunk of every run.
TEST_F(device_pool, the_first_chunk_of_each_run_is_not_measured) {
    ASSERT_OK_AND_ASSIGN(DevicePool pool, DevicePool::create(std::span(&one_device(), 1)));
    const auto measured = [&]() -> Result<double> {
        YOLK_TRY(const PooledResult result, pool.evaluate(slept_work({1e-5}, 64, 0)));
        return result.shares[0].rate;
    };
    for (int run = 0; run < 2; ++run) {
        pool.begin_run();
        const double before = pool.rate(0);
        ASSERT_OK_AND_ASSIGN(const double first, measured());
        EXPECT_EQ(first, 0.0);
        EXPECT_EQ(pool.rate(0), before);
        ASSERT_OK_AND_ASSIGN(const double second, measured());
        EXPECT_GT(second, 0.0);
        EXPECT_EQ(pool.rate(0), second);
    }
}

TEST_F(device_pool, each_stage_can_be_a_function_on_the_host) {
    ASSERT_OK_AND_ASSIGN(const Trail expected, undisturbed());
    const std::array devices{one_device(), another_device()};
    ASSERT_OK_AND_ASSIGN(DevicePool pool, DevicePool::create(devices));
    for (const bool halve : {false, true}) {
        PoolParts parts = pooled_parts(pooled_options());
        const ParameterTable table = parts.parameters;
        parts.stages.shape = [](std::span<const float> returns, const NoiseContext&) -> Result<ShapedGeneration> {
            return shaped_by_twin({.population = kPooled}, returns);
        };
        parts.stages.update = [table](const ShapedGeneration& shaped,
                                      const NoiseContext& when) -> Result<std::vector<float>> {
            return reference::twin_result<float>(EsUpdateDesc{.parameters = table, .population = kPooled},
                                                 {shaped.integer_weights, shaped.summary}, when);
        };
        parts.stages.optimize = [halve](const Stages::Step& step) -> Result<void> {
            const float rate = halve ? step.learning_rate / 2 : step.learning_rate;
            reference::twin_of(OptimizerDesc{.element_count = static_cast<std::uint32_t>(step.parameters.size())},
                               {step.gradient, step.parameters, step.state}, rate, step.generation);
            return {};
        };
        ASSERT_OK_AND_ASSIGN(Evolution run, Evolution::create(pool, std::move(parts), pooled_options()));
        ASSERT_OK_AND_ASSIGN(const Trail trail, follow(run));
        EXPECT_EQ(trail == expected, !halve);
    }
}

TEST_F(device_pool, an_error_of_the_users_function_ends_the_run) {
    ASSERT_OK_AND_ASSIGN(DevicePool pool, DevicePool::create(std::span(&one_device(), 1), {.host_workers = 1}));
    PoolParts parts = pooled_parts(pooled_options());
    parts.members = [](const Device*, Dispatcher*) -> Result<std::unique_ptr<MemberEvaluator>> {
        return host_members([](const HostQuestion&, std::span<float>) -> Result<std::uint64_t> {
            return failed_work("The simulator of the engine is not running.");
        });
    };
    ASSERT_OK_AND_ASSIGN(Evolution run, Evolution::create(pool, std::move(parts), pooled_options()));
    EXPECT_TRUE(expect_error(run.step(), ErrorKind::Failed, "The simulator of the engine is not running."));
    EXPECT_EQ(pool.in_use(), 2U);
}

TEST_F(device_pool, bad_input_is_refused) {
    EXPECT_TRUE(expect_error(DevicePool::create({}), ErrorKind::BadInput, "needs at least one device"));
    const std::array devices{one_device(), another_device()};
    const std::array twice{one_device(), another_device(), one_device()};
    EXPECT_TRUE(expect_error(DevicePool::create(twice), ErrorKind::BadInput,
                             "Devices 0 and 2 of a pool are both " + one_device().info().name));
    ASSERT_OK_AND_ASSIGN(const Device again, mortal_device(testing::first_device_name()));
    const std::array opened_twice{one_device(), again};
    EXPECT_OK(DevicePool::create(opened_twice));
    EXPECT_TRUE(expect_error(DevicePool::create(std::span(devices).first(1), {.audit = 0.5}), ErrorKind::BadInput,
                             "there is one device"));
    for (const double audit : {-0.1, 1.5, std::nan("")}) {
        EXPECT_TRUE(
            expect_error(DevicePool::create(devices, {.audit = audit}), ErrorKind::BadInput, "The audit share is"));
    }
    EXPECT_TRUE(expect_error(DevicePool::create(devices, {.determinism = Determinism::Fast, .audit = 0.5}),
                             ErrorKind::BadInput, "An audit compares bits"));
    ASSERT_OK_AND_ASSIGN(DevicePool pool, DevicePool::create(devices));
    EXPECT_TRUE(expect_error(Evolution::create(pool, PoolParts{}, pooled_options()), ErrorKind::BadInput,
                             "PoolParts::members"));
    PoolParts parts = pooled_parts(pooled_options());
    parts.host_policy = host_members({});
    EXPECT_TRUE(expect_error(Evolution::create(pool, std::move(parts), pooled_options()), ErrorKind::BadInput,
                             "PoolParts::host_policy is of runs on the host"));
    parts = pooled_parts(pooled_options());
    parts.initial.pop_back();
    EXPECT_TRUE(expect_error(Evolution::create(pool, std::move(parts), pooled_options()), ErrorKind::BadInput,
                             "initial values"));
}

TEST_F(device_pool, a_device_that_is_not_exact_is_dropped_at_once) {
    testing::FaultInjector faults;
    faults.spoil_multiplications(true);
    ASSERT_OK_AND_ASSIGN(const Device spoilt,
                         Device::create(testing::instance(), testing::device_index(testing::first_device_name())));
    std::string notices;
    const std::array devices{spoilt, another_device()};
    ASSERT_OK_AND_ASSIGN(const DevicePool pool,
                         DevicePool::create(devices, {.on_drop = [&](const auto& text) { notices += text; }}));
    EXPECT_EQ(pool.in_use(), 1U);
    EXPECT_THAT(notices, HasSubstr("cannot run in exact mode"));
}

}  // namespace
}  // namespace yolk::evolve
