// SPDX-License-Identifier: Apache-2.0
#include "host_pool.hpp"

#include <gtest/gtest.h>

#include <atomic>
#include <barrier>
#include <cerrno>
#include <latch>
#include <limits>
#include <stdexcept>
#include <thread>

#include "fixtures.hpp"
#include "yolk/internal/testing/device_test.hpp"
#include "yolk/json.hpp"

namespace yolk::hyper {
namespace {

using namespace std::chrono_literals;

HostFunctionPtr function(std::string name, std::function<Result<Value>(const HostCall&)> run,
                         HostOptions options = {}) {
    return std::make_shared<const HostFunction>(
        HostFunction{.name = std::move(name), .run = std::move(run), .options = options});
}

std::vector<HostTask> tasks_of(const HostFunctionPtr& called, int count) {
    std::vector<HostTask> tasks;
    for (int i = 0; i < count; ++i) {
        tasks.push_back(
            {.function = called, .operands = {Value(static_cast<double>(i))}, .label = "example " + std::to_string(i)});
    }
    return tasks;
}

/// Raises `highest` to `now`.
void note_highest(std::atomic<int>& highest, int now) {
    int before = highest;
    while (before < now && !highest.compare_exchange_weak(before, now)) {}
}

/// Lets calls wait for the test without holding on to it: abandoned ones outlive it.
struct Gate {
    std::atomic<bool> open = false;
    std::atomic<int> passed = 0;
    void wait() {
        open.wait(false);
        ++passed;
    }
    void release() {
        open = true;
        open.notify_all();
    }
};

TEST(threads, calls_of_a_function_overlap_up_to_its_limit) {
    std::barrier together(16);  // passes only where sixteen calls are inside at the same time
    std::atomic<int> inside = 0;
    std::atomic<int> highest = 0;
    const HostFunctionPtr called = function("sixteen",
                                            [&](const HostCall& call) -> Result<Value> {
                                                note_highest(highest, ++inside);
                                                together.arrive_and_wait();
                                                --inside;
                                                return Value(*call.operands[0].number() * 2.0);
                                            },
                                            {.max_concurrency = 16});
    ASSERT_OK_AND_ASSIGN(HostPool pool, HostPool::create());
    const std::vector<HostTask> tasks = tasks_of(called, 64);
    const std::vector<Result<Value>> results = pool.run_all(tasks);
    ASSERT_EQ(results.size(), 64U);
    for (std::size_t i = 0; i < results.size(); ++i) {
        ASSERT_OK(results[i]);
        EXPECT_EQ(*results[i], Value(2.0 * static_cast<double>(i)));
    }
    EXPECT_EQ(highest, 16);
}

TEST(threads, the_limit_holds_over_all_users_of_a_pool) {
    std::barrier together(3);
    std::atomic<int> inside = 0;
    std::atomic<int> highest = 0;
    const HostFunctionPtr called = function("three",
                                            [&](const HostCall&) -> Result<Value> {
                                                note_highest(highest, ++inside);
                                                together.arrive_and_wait();
                                                --inside;
                                                return Value(1);
                                            },
                                            {.max_concurrency = 3});
    ASSERT_OK_AND_ASSIGN(HostPool pool, HostPool::create({.threads = 8}));
    const std::vector<HostTask> tasks = tasks_of(called, 12);
    std::thread other([&] { EXPECT_EQ(pool.run_all(tasks).size(), 12U); });
    EXPECT_EQ(pool.run_all(tasks).size(), 12U);
    other.join();
    EXPECT_EQ(highest, 3);
    ASSERT_EQ(pool.statistics().size(), 1U);
    EXPECT_EQ(pool.statistics()[0].calls, 24U);
}

TEST(threads, a_function_at_its_limit_does_not_hold_up_another) {
    std::latch called_second(1);
    const HostFunctionPtr first = function("first",
                                           [&](const HostCall&) -> Result<Value> {
                                               called_second.wait();
                                               return Value(1);
                                           },
                                           {.max_concurrency = 1});
    const HostFunctionPtr second = function("second", [&](const HostCall&) -> Result<Value> {
        called_second.count_down();
        return Value(2);
    });
    ASSERT_OK_AND_ASSIGN(HostPool pool, HostPool::create({.threads = 2}));
    std::vector<HostTask> tasks = tasks_of(first, 3);
    tasks.push_back({.function = second});
    for (const Result<Value>& result : pool.run_all(tasks)) EXPECT_TRUE(testing::expect_ok(result));
}

TEST(threads, a_call_that_times_out_is_abandoned_and_counted) {
    const auto gate = std::make_shared<Gate>();
    const auto asked_to_stop = std::make_shared<std::atomic<bool>>(false);
    const HostFunctionPtr slow = function("slow",
                                          [gate, asked_to_stop](const HostCall& call) -> Result<Value> {
                                              gate->wait();
                                              *asked_to_stop = call.stop.stop_requested();
                                              return Value(1);
                                          },
                                          {.timeout = 20ms});
    ASSERT_OK_AND_ASSIGN(HostPool pool, HostPool::create({.threads = 1}));
    const std::vector<HostTask> one{{.function = slow, .label = "example 3, candidate 17"}};
    const std::vector<Result<Value>> results = pool.run_all(one);
    EXPECT_TRUE(testing::expect_error(results[0], ErrorKind::Io, "Host function 'slow' (example 3, candidate 17)"));
    EXPECT_TRUE(testing::expect_error(results[0], ErrorKind::Io, "no result within 20 ms"));
    EXPECT_EQ(results[0].error().native, ETIMEDOUT);
    EXPECT_EQ(pool.abandoned(), 1U);
    EXPECT_EQ(pool.statistics()[0].timeouts, 1U);
    EXPECT_EQ(pool.statistics()[0].errors, 0U);

    // Its thread has been replaced: the pool's only place is free.
    const HostFunctionPtr quick = function("quick", [](const HostCall&) -> Result<Value> { return Value(7); });
    EXPECT_EQ(pool.run({.function = quick}).get().value(), Value(7));
    gate->release();
    EXPECT_TRUE(soon([&] { return pool.abandoned() == 0; }));
    EXPECT_TRUE(*asked_to_stop);
}

TEST(threads, an_abandoned_call_reads_copies) {
    const auto gate = std::make_shared<Gate>();
    const auto read = std::make_shared<std::atomic<double>>(0.0);
    const HostFunctionPtr slow = function("slow",
                                          [gate, read](const HostCall& call) -> Result<Value> {
                                              gate->wait();
                                              *read =
                                                  static_cast<double>(call.parameters[1]) + *call.operands[0].number();
                                              return Value(1);
                                          },
                                          {.timeout = 10ms});
    ASSERT_OK_AND_ASSIGN(HostPool pool, HostPool::create({.threads = 2}));
    {
        std::vector<float> parameters{1.0F, 2.0F};
        std::vector<HostTask> one{{.function = slow, .parameters = parameters, .operands = {Value(40.0)}}};
        EXPECT_FALSE(pool.run_all(one)[0]);
        parameters.assign(2, 0.0F);
        one[0].operands[0] = Value(0.0);
    }
    gate->release();
    ASSERT_TRUE(soon([&] { return pool.abandoned() == 0; }));
    EXPECT_EQ(*read, 42.0);
}

TEST(threads, a_pool_ends_while_an_abandoned_call_still_runs) {
    const auto gate = std::make_shared<Gate>();
    const HostFunctionPtr slow = function("slow",
                                          [gate](const HostCall&) -> Result<Value> {
                                              gate->wait();
                                              return Value(1);
                                          },
                                          {.timeout = 5ms});
    {
        ASSERT_OK_AND_ASSIGN(HostPool pool, HostPool::create({.threads = 2}));
        for (const Result<Value>& result : pool.run_all(tasks_of(slow, 5))) EXPECT_FALSE(result);
        EXPECT_EQ(pool.abandoned(), 5U);
    }
    EXPECT_EQ(gate->passed, 0);
    gate->release();
    EXPECT_TRUE(soon([&] { return gate->passed == 5; }));
}

TEST(threads, ending_a_pool_asks_calls_to_stop_and_fails_what_waits) {
    std::latch begun(1);
    const HostFunctionPtr patient = function("patient", [&](const HostCall& call) -> Result<Value> {
        begun.count_down();
        while (!call.stop.stop_requested()) std::this_thread::sleep_for(1ms);
        return Value(5);
    });
    std::future<Result<Value>> running;
    std::future<Result<Value>> waiting;
    {
        ASSERT_OK_AND_ASSIGN(HostPool pool, HostPool::create({.threads = 1}));
        running = pool.run({.function = patient});
        begun.wait();
        waiting = pool.run({.function = patient, .label = "the second"});
    }
    EXPECT_EQ(running.get().value(), Value(5));
    EXPECT_TRUE(
        testing::expect_error(waiting.get(), ErrorKind::BadInput, "its pool was destroyed before it was called"));
}

TEST(threads, retries_come_back_after_their_back_off) {
    using Clock = std::chrono::steady_clock;
    std::vector<Clock::time_point> begun;  // one call at a time
    const HostOptions options{.retries = 3, .backoff = 8ms};
    const HostFunctionPtr fails_thrice = function(
        "flaky",
        [&](const HostCall&) -> Result<Value> {
            begun.push_back(Clock::now());
            if (begun.size() <= 3) return bad_input("not yet.");
            return Value(9);
        },
        options);
    ASSERT_OK_AND_ASSIGN(HostPool pool, HostPool::create({.threads = 2, .seed = 4}));
    const std::vector<Result<Value>> results = pool.run_all(tasks_of(fails_thrice, 1));
    ASSERT_OK(results[0]);
    EXPECT_EQ(*results[0], Value(9));
    ASSERT_EQ(begun.size(), 4U);
    for (std::uint32_t retry = 1; retry <= 3; ++retry) {
        EXPECT_GE(begun[retry] - begun[retry - 1], retry_delay(options, retry, 0, 4)) << retry;
    }
    const HostStatistics counted = pool.statistics()[0];
    EXPECT_EQ(counted.calls, 4U);
    EXPECT_EQ(counted.retries, 3U);
    EXPECT_EQ(counted.errors, 3U);
}

TEST(threads, time_outs_are_retried_and_the_last_one_told) {
    const auto gate = std::make_shared<Gate>();
    const HostFunctionPtr slow = function("slow",
                                          [gate](const HostCall&) -> Result<Value> {
                                              gate->wait();
                                              return Value(1);
                                          },
                                          {.timeout = 5ms, .retries = 2, .backoff = 1ms});
    ASSERT_OK_AND_ASSIGN(HostPool pool, HostPool::create());
    const std::vector<Result<Value>> results = pool.run_all(tasks_of(slow, 1));
    EXPECT_TRUE(testing::expect_error(results[0], ErrorKind::Io, "(3 attempts.)"));
    EXPECT_EQ(pool.abandoned(), 3U);
    EXPECT_EQ(pool.statistics()[0].timeouts, 3U);
    EXPECT_EQ(pool.statistics()[0].retries, 2U);
    gate->release();
}

TEST(threads, no_more_calls_are_made_where_very_many_were_abandoned) {
    const auto gate = std::make_shared<Gate>();
    const auto calls = std::make_shared<std::atomic<int>>(0);
    const HostFunctionPtr stuck = function("stuck",
                                           [gate, calls](const HostCall&) -> Result<Value> {
                                               ++*calls;
                                               gate->wait();
                                               return Value(1);
                                           },
                                           {.timeout = 1ms});
    const HostPool::Options options{.threads = 8};
    ASSERT_OK_AND_ASSIGN(HostPool pool, HostPool::create(options));
    const int most = static_cast<int>(most_abandoned(options));
    const std::vector<Result<Value>> results = pool.run_all(tasks_of(stuck, most + 40));
    EXPECT_TRUE(testing::expect_error(results.back(), ErrorKind::BadInput, "have not returned"));
    EXPECT_LT(*calls, most + 8);
    gate->release();
    EXPECT_TRUE(soon([&] { return pool.abandoned() == 0; }));
}

TEST(host_pool, errors_name_the_function_and_the_label) {
    const HostFunctionPtr throws = function("throws", [](const HostCall& call) -> Result<Value> {
        if (call.operands[0] == Value(0)) throw std::runtime_error("boom");
        if (call.operands[0] == Value(1)) throw 5;  // NOLINT: anything may come
        if (call.operands[0] == Value(2)) throw std::bad_alloc();
        return unsupported("no such tool.");
    });
    ASSERT_OK_AND_ASSIGN(HostPool pool, HostPool::create({.threads = 3}));
    const std::vector<Result<Value>> results = pool.run_all(tasks_of(throws, 4));
    EXPECT_TRUE(
        testing::expect_error(results[0], ErrorKind::BadInput, "'throws' (example 0): it threw an exception: boom"));
    EXPECT_TRUE(testing::expect_error(results[1], ErrorKind::BadInput,
                                      "'throws' (example 1): it threw something that is not a std"));
    EXPECT_TRUE(testing::expect_error(results[2], ErrorKind::OutOfMemory, "'throws' (example 2)"));
    EXPECT_TRUE(testing::expect_error(results[3], ErrorKind::Unsupported, "'throws' (example 3): no such tool."));
    EXPECT_EQ(pool.statistics()[0].errors, 4U);
}

TEST(host_pool, bad_input_is_refused) {
    EXPECT_TRUE(testing::expect_error(HostPool::create({.threads = 0}), ErrorKind::BadInput, "0 threads"));
    EXPECT_TRUE(testing::expect_error(HostPool::create({.threads = 5000}), ErrorKind::BadInput, "1 to 4096"));
    ASSERT_OK_AND_ASSIGN(HostPool pool, HostPool::create());
    EXPECT_TRUE(pool.run_all({}).empty());
    const std::vector<HostTask> none{{.label = "example 2"}, {.function = function("empty", {})}};
    const std::vector<Result<Value>> results = pool.run_all(none);
    EXPECT_TRUE(testing::expect_error(results[0], ErrorKind::BadInput, "(example 2) has no host function"));
    EXPECT_TRUE(testing::expect_error(results[1], ErrorKind::BadInput, "no host function"));
    EXPECT_TRUE(pool.statistics().empty());
}

TEST(host_pool, moved_pools_work) {
    const HostFunctionPtr quick = function("quick", [](const HostCall&) -> Result<Value> { return Value(7); });
    ASSERT_OK_AND_ASSIGN(HostPool first, HostPool::create({.threads = 1}));
    ASSERT_OK_AND_ASSIGN(HostPool second, HostPool::create({.threads = 1}));
    EXPECT_TRUE(testing::expect_ok(first.run({.function = quick}).get()));
    second = std::move(first);
    EXPECT_TRUE(testing::expect_ok(second.run({.function = quick}).get()));
    EXPECT_EQ(second.statistics()[0].calls, 2U);
}

TEST(host_pool, back_off_doubles_with_jitter_that_the_seed_decides) {
    const HostOptions options{.backoff = 100ms};
    std::chrono::nanoseconds limit = 100ms;
    for (std::uint32_t retry = 1; retry < 10; ++retry, limit *= 2) {
        for (std::uint64_t call = 0; call < 50; ++call) {
            const std::chrono::nanoseconds delay = retry_delay(options, retry, call, 1);
            EXPECT_GE(delay, limit / 2);
            EXPECT_LE(delay, limit);
            EXPECT_EQ(delay, retry_delay(options, retry, call, 1));
        }
    }
    EXPECT_NE(retry_delay(options, 1, 0, 1), retry_delay(options, 1, 1, 1));
    EXPECT_NE(retry_delay(options, 1, 0, 1), retry_delay(options, 1, 0, 2));
    EXPECT_LE(retry_delay(options, 4'000'000'000U, 0, 1), 1h);
    EXPECT_EQ(retry_delay({.backoff = 0ms}, 3, 0, 1), 0ns);
}

TEST(host_pool, percentiles_are_within_a_hundredth) {
    Latencies latencies;
    EXPECT_EQ(latencies.quantile(.5), 0.0);
    for (int i = 1; i <= 1000; ++i) latencies.add(1e-3 * i);
    for (const double q : {.001, .5, .95, .99, 1.0}) EXPECT_NEAR(latencies.quantile(q) / q, 1.0, .01) << q;
    for (const double strange : {0.0, -1.0, 1e300, std::numeric_limits<double>::quiet_NaN()}) latencies.add(strange);
    EXPECT_EQ(latencies.count(), 1004U);
}

TEST(host_pool, statistics_are_told_as_json) {
    const HostStatistics counted{.function = "f", .calls = 3, .errors = 1, .p50_ms = 2.0};
    EXPECT_EQ(to_line(to_json(counted)),
              R"({"function":"f","calls":3,"errors":1,"timeouts":0,"retries":0,"seconds":0.0,"p50_ms":2.0,)"
              R"("p95_ms":0.0,"p99_ms":0.0})");
}

}  // namespace
}  // namespace yolk::hyper
