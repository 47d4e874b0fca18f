// SPDX-License-Identifier: Apache-2.0
// One run over devices of two vendors and host workers: the bits of a single device, whatever fails on the way.
#include "yolk/evolve/device_pool.hpp"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "fixtures.hpp"
#include "yolk/evolve/member_evaluator.hpp"
#include "yolk/evolve/pool_parts.hpp"
#include "yolk/reference/es_update.hpp"
#include "yolk/reference/fitness.hpp"
#include "yolk/reference/optimizer.hpp"
#include "yolk/runtime/probe.hpp"
#include "yolk/testing/device_test.hpp"
#include "yolk/testing/fault_injector.hpp"

namespace yolk::evolve {
namespace {

using ::testing::HasSubstr;
using ::yolk::testing::expect_error;

constexpr std::uint32_t kPooled = 64;
constexpr int kPoolGenerations = 3;

PolicyNetwork pooled_network() { return {.widths = {4, 5, 2}}; }

EvolutionOptions pooled_options() { return {.population = kPooled, .sigma = 0.3F, .seed = 11}; }

RolloutDesc pooled_rollout(const ParameterTable& table, bool mean_only) {
    RolloutDesc desc{.network = pooled_network(), .parameters = table, .members = kPooled, .max_steps = 30};
    desc.mean_only = mean_only;
    if (mean_only) desc.episodes = 4;
    return desc;
}

/// A run's parts on any workers.
PoolParts pooled_parts(const EvolutionOptions& options) {
    PoolParts parts;
    parts.parameters = *trained_parameters(*ParameterTable::create(pooled_network().parameters()), options);
    parts.initial = initial_parameters(parts.parameters, options.seed);
    const ParameterTable table = parts.parameters;
    parts.members = [table](const Device* device, Dispatcher* dispatcher) -> Result<std::unique_ptr<MemberEvaluator>> {
        if (device == nullptr) return rollout_twin_members(pooled_rollout(table, false));
        return rollout_members(*device, *dispatcher, pooled_rollout(table, false), kPooled / 2);
    };
    parts.policy = [table](const Device& device) { return rollout_evaluator(device, pooled_rollout(table, true), 7); };
    parts.judge = rollout_twin_members(pooled_rollout(table, false));
    parts.digest = true;
    parts.keep_weights = true;
    return parts;
}

struct Trail {
    std::vector<std::string> hashes;
    std::vector<std::optional<float>> policy_means;
    std::vector<std::uint64_t> evaluations;
    friend bool operator==(const Trail& left, const Trail& right) = default;
};

/// What each generation came to; one that was made again after an audit counts once.
Result<Trail> follow(Evolution& run, int generations = kPoolGenerations) {
    Trail trail;
    while (run.generations() < static_cast<std::uint32_t>(generations)) {
        YOLK_TRY(const GenerationSummary summary, run.step());
        trail.hashes.resize(summary.generation);
        trail.policy_means.resize(summary.generation);
        trail.evaluations.resize(summary.generation);
        YOLK_TRY(trail.hashes.emplace_back(), run.state_hash());
        trail.policy_means.push_back(summary.policy_mean);
        trail.evaluations.push_back(summary.evaluations);
    }
    return trail;
}

class device_pool : public ::testing::Test {
   protected:
    /// Before any fault injector, which can fail only devices that are made after it.
    void SetUp() override {
        static_cast<void>(lavapipe());
        static_cast<void>(swiftshader());
    }
    static const Device& lavapipe() { return testing::shared_device("lavapipe").device; }
    static const Device& swiftshader() { return testing::shared_device("swiftshader").device; }
    /// Of one device, which makes the whole run.
    static Result<Trail> undisturbed(int generations = kPoolGenerations,
                                     const EvolutionOptions& options = pooled_options()) {
        auto& shared = testing::shared_device("lavapipe");
        PoolParts given = pooled_parts(options);
        EvolutionParts parts{.parameters = given.parameters, .initial = given.initial};
        YOLK_TRY(parts.evaluator, rollout_evaluator(shared.device, pooled_rollout(given.parameters, false)));
        YOLK_TRY(parts.policy_evaluator, given.policy(shared.device));
        YOLK_TRY(Evolution run, Evolution::create(shared.device, shared.dispatcher, std::move(parts), options));
        return follow(run, generations);
    }
};

/// A worker that scores members of later generations wrongly.
std::unique_ptr<MemberEvaluator> spoilt_members(const RolloutDesc& desc, std::uint32_t right_generations) {
    const std::shared_ptr<MemberEvaluator> twin = rollout_twin_members(desc);
    return host_members(
        [twin, right_generations](const HostQuestion& question, std::span<float> returns) -> Result<std::uint64_t> {
            YOLK_TRY_VOID(twin->begin(question.parameters, question.when));
            YOLK_TRY(const std::uint64_t count, twin->evaluate(question.members, returns));
            if (question.when.generation >= right_generations) returns.front() += 1.0F;
            return count;
        });
}

/// A device of its own, which faults may take away without the other tests' losing theirs.
Result<Device> mortal_device(const std::string& name) {
    YOLK_TRY(const Device device, Device::create(testing::instance(), testing::device_index(name)));
    YOLK_TRY_VOID(probe(device));
    return device;
}

TEST_F(device_pool, two_vendors_give_the_bits_of_one) {
    ASSERT_OK_AND_ASSIGN(const Trail expected, undisturbed());
    for (const std::uint32_t host_workers : {0U, 1U}) {
        const std::array devices{swiftshader(), lavapipe()};
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
    ASSERT_OK_AND_ASSIGN(DevicePool pool, DevicePool::create(std::span(&swiftshader(), 1)));
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

TEST_F(device_pool, an_update_that_all_devices_make_has_the_same_bits) {
    ASSERT_OK_AND_ASSIGN(const Trail expected, undisturbed());
    const std::array devices{swiftshader(), lavapipe()};
    ASSERT_OK_AND_ASSIGN(DevicePool pool, DevicePool::create(devices));
    PoolParts parts = pooled_parts(pooled_options());
    parts.update_by = UpdateBy::All;
    ASSERT_OK_AND_ASSIGN(Evolution run, Evolution::create(pool, std::move(parts), pooled_options()));
    ASSERT_OK_AND_ASSIGN(const Trail trail, follow(run));
    EXPECT_EQ(trail, expected);
    EXPECT_EQ(pool.in_use(), 2U);
}

TEST_F(device_pool, a_device_lost_in_a_shared_update_is_dropped_and_the_bits_stay) {
    constexpr int kGenerations = 6;
    ASSERT_OK_AND_ASSIGN(const Trail expected, undisturbed(kGenerations));
    for (const std::uint64_t call : {2U, 5U, 8U, 11U}) {
        SCOPED_TRACE(call);
        testing::FaultInjector faults;
        ASSERT_OK_AND_ASSIGN(const Device mortal, mortal_device("lavapipe"));
        const std::array devices{mortal, swiftshader()};
        ASSERT_OK_AND_ASSIGN(DevicePool pool, DevicePool::create(devices, {.on_drop = [](auto&) {}}));
        PoolParts parts = pooled_parts(pooled_options());
        parts.update_by = UpdateBy::All;
        ASSERT_OK_AND_ASSIGN(Evolution run, Evolution::create(pool, std::move(parts), pooled_options()));
        ASSERT_OK(run.step());
        faults.fail_nth_call(call, testing::FaultKind::DeviceLost);
        ASSERT_OK(follow(run, kGenerations));
        ASSERT_OK_AND_ASSIGN(const std::string hash, run.state_hash());
        EXPECT_EQ(hash, expected.hashes.back());
        EXPECT_EQ(pool.in_use(), 1U);
    }
}

TEST_F(device_pool, logged_generations_repeat_the_run) {
    const std::array devices{swiftshader(), lavapipe()};
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
    constexpr int kGenerations = 12;
    ASSERT_OK_AND_ASSIGN(const Trail expected, undisturbed(kGenerations));
    for (const std::uint64_t call : {1U, 2U, 3U, 4U, 9U}) {
        SCOPED_TRACE(call);
        testing::FaultInjector faults;
        ASSERT_OK_AND_ASSIGN(const Device mortal, mortal_device("lavapipe"));
        const std::array devices{mortal, swiftshader()};
        std::string notices;
        ASSERT_OK_AND_ASSIGN(
            DevicePool pool,
            DevicePool::create(devices, {.on_drop = [&](const std::string& text) { notices += text; }}));
        ASSERT_OK_AND_ASSIGN(Evolution run, Evolution::create(pool, pooled_parts(pooled_options()), pooled_options()));
        faults.fail_nth_call(call, testing::FaultKind::DeviceLost);
        ASSERT_OK_AND_ASSIGN(const Trail trail, follow(run, kGenerations));
        EXPECT_EQ(trail, expected);
        EXPECT_EQ(pool.in_use(), 1U) << faults.injected_into();
        EXPECT_THAT(notices, HasSubstr("is dropped: "));
        EXPECT_THAT(notices, HasSubstr("1 of 2 devices goes on"));
        EXPECT_THAT(pool.losses(), HasSubstr("was dropped"));
    }
}

TEST_F(device_pool, a_hung_device_is_dropped_and_the_bits_stay) {
    ASSERT_OK_AND_ASSIGN(const Trail expected, undisturbed());
    testing::FaultInjector faults;
    ASSERT_OK_AND_ASSIGN(const Device mortal, mortal_device("lavapipe"));
    const std::array devices{mortal, swiftshader()};
    // Long enough for what SwiftShader compiles on a busy machine.
    ASSERT_OK_AND_ASSIGN(DevicePool pool,
                         DevicePool::create(devices, {.hang_limit = std::chrono::seconds(2), .on_drop = [](auto&) {}}));
    ASSERT_OK_AND_ASSIGN(Evolution run, Evolution::create(pool, pooled_parts(pooled_options()), pooled_options()));
    faults.hang_submissions(true);
    ASSERT_OK_AND_ASSIGN(const Trail trail, follow(run));
    EXPECT_EQ(trail, expected);
    EXPECT_EQ(pool.in_use(), 1U);
}

TEST_F(device_pool, without_a_device_left_it_says_why_each_was_dropped) {
    testing::FaultInjector faults;
    ASSERT_OK_AND_ASSIGN(const Device mortal, mortal_device("lavapipe"));
    ASSERT_OK_AND_ASSIGN(DevicePool pool, DevicePool::create(std::span(&mortal, 1), {.on_drop = [](auto&) {}}));
    ASSERT_OK_AND_ASSIGN(Evolution run, Evolution::create(pool, pooled_parts(pooled_options()), pooled_options()));
    faults.fail_nth_call(2, testing::FaultKind::DeviceLost);
    const Result<Trail> trail = follow(run);
    EXPECT_TRUE(expect_error(trail, ErrorKind::DeviceLost, "No device of the pool is left."));
    EXPECT_TRUE(expect_error(trail, ErrorKind::DeviceLost, "llvmpipe"));
}

TEST_F(device_pool, an_audit_finds_the_wrong_one_and_goes_back) {
    constexpr int kGenerations = 5;
    ASSERT_OK_AND_ASSIGN(const Trail expected, undisturbed(kGenerations));
    for (const double audit : {1.0, 0.3}) {
        for (const std::uint32_t right_generations : {0U, 2U}) {
            SCOPED_TRACE(fmt::format("audit {}, right for {}", audit, right_generations));
            std::string notices;
            const std::array devices{lavapipe()};
            ASSERT_OK_AND_ASSIGN(
                DevicePool pool,
                DevicePool::create(devices,
                                   {.audit = audit, .seed = 5, .host_workers = 1, .on_drop = [&](const auto& text) {
                                        notices += text;
                                    }}));
            PoolParts parts = pooled_parts(pooled_options());
            const auto right = parts.members;
            const ParameterTable table = parts.parameters;
            parts.members = [=](const Device* device, Dispatcher* dispatcher) {
                return device != nullptr ? right(device, dispatcher)
                                         : Result(spoilt_members(pooled_rollout(table, false), right_generations));
            };
            ASSERT_OK_AND_ASSIGN(Evolution run, Evolution::create(pool, std::move(parts), pooled_options()));
            const Result<Trail> trail = follow(run, kGenerations);
            ASSERT_OK(trail);
            if (audit == 1.0 || !pool.is_used(1)) {
                EXPECT_EQ(trail->hashes, expected.hashes);
                EXPECT_FALSE(pool.is_used(1));
                EXPECT_THAT(notices, HasSubstr("host 0 is dropped: It computes wrongly: in generation"));
            }
        }
    }
}

/// Wrong from generation 1 on and found out in generation 3, because only that one's members are audited: the audit's
/// draw differs from generation to generation.
TEST_F(device_pool, what_a_wrong_device_spoilt_earlier_is_made_again) {
    constexpr int kGenerations = 12;
    ASSERT_OK_AND_ASSIGN(const Trail expected, undisturbed(kGenerations));
    std::uint32_t went_back = 0;
    for (std::uint64_t seed = 1; seed <= 6; ++seed) {
        const std::array devices{lavapipe()};
        ASSERT_OK_AND_ASSIGN(
            DevicePool pool,
            DevicePool::create(devices, {.audit = 0.15, .seed = seed, .host_workers = 1, .on_drop = [](auto&) {}}));
        PoolParts parts = pooled_parts(pooled_options());
        const auto right = parts.members;
        const ParameterTable table = parts.parameters;
        parts.members = [=](const Device* device, Dispatcher* dispatcher) {
            return device != nullptr ? right(device, dispatcher)
                                     : Result(spoilt_members(pooled_rollout(table, false), 1));
        };
        ASSERT_OK_AND_ASSIGN(Evolution run, Evolution::create(pool, std::move(parts), pooled_options()));
        bool did = false;
        while (run.generations() < kGenerations) {
            const std::uint32_t before = run.generations();
            ASSERT_OK(run.step());
            did = did || run.generations() <= before;
        }
        went_back += did ? 1 : 0;
        if (pool.is_used(1)) continue;  // it was not drawn again before the end
        ASSERT_OK_AND_ASSIGN(const std::string hash, run.state_hash());
        EXPECT_EQ(hash, expected.hashes.back()) << seed;
    }
    EXPECT_GE(went_back, 1U);
}

TEST_F(device_pool, without_a_judge_both_that_disagree_are_dropped) {
    const std::array devices{lavapipe()};
    ASSERT_OK_AND_ASSIGN(DevicePool pool,
                         DevicePool::create(devices, {.audit = 1.0, .host_workers = 1, .on_drop = [](auto&) {}}));
    PoolParts parts = pooled_parts(pooled_options());
    const auto right = parts.members;
    const ParameterTable table = parts.parameters;
    parts.members = [=](const Device* device, Dispatcher* dispatcher) {
        return device != nullptr ? right(device, dispatcher) : Result(spoilt_members(pooled_rollout(table, false), 0));
    };
    parts.judge.reset();
    ASSERT_OK_AND_ASSIGN(Evolution run, Evolution::create(pool, std::move(parts), pooled_options()));
    EXPECT_TRUE(expect_error(follow(run), ErrorKind::DeviceLost, "disagree on members"));
}

TEST_F(device_pool, each_stage_can_be_a_function_on_the_host) {
    ASSERT_OK_AND_ASSIGN(const Trail expected, undisturbed());
    const std::array devices{lavapipe(), swiftshader()};
    ASSERT_OK_AND_ASSIGN(DevicePool pool, DevicePool::create(devices));
    for (const bool halve : {false, true}) {
        PoolParts parts = pooled_parts(pooled_options());
        const ParameterTable table = parts.parameters;
        parts.stages.shape = [](std::span<const float> returns, const NoiseContext&) -> Result<ShapedGeneration> {
            reference::FitnessTwin twin = reference::fitness_twin({.population = kPooled}, returns);
            return ShapedGeneration{.summary = twin.summary, .integer_weights = std::move(twin.integer_weights)};
        };
        parts.stages.update = [table](const ShapedGeneration& shaped,
                                      const NoiseContext& when) -> Result<std::vector<float>> {
            return reference::es_update_twin({.parameters = table, .population = kPooled}, shaped.integer_weights,
                                             shaped.summary, when);
        };
        parts.stages.optimize = [halve](const Stages::Step& step) -> Result<void> {
            const float rate = halve ? step.learning_rate / 2 : step.learning_rate;
            reference::optimizer_twin({.element_count = static_cast<std::uint32_t>(step.parameters.size())},
                                      {step.gradient.begin(), step.gradient.end()}, step.parameters, step.state, rate,
                                      step.generation);
            return {};
        };
        ASSERT_OK_AND_ASSIGN(Evolution run, Evolution::create(pool, std::move(parts), pooled_options()));
        ASSERT_OK_AND_ASSIGN(const Trail trail, follow(run));
        EXPECT_EQ(trail == expected, !halve);
    }
}

TEST_F(device_pool, an_error_of_the_users_function_ends_the_run) {
    ASSERT_OK_AND_ASSIGN(DevicePool pool, DevicePool::create(std::span(&lavapipe(), 1), {.host_workers = 1}));
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
    const std::array devices{lavapipe(), swiftshader()};
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
    parts.initial.pop_back();
    EXPECT_TRUE(expect_error(Evolution::create(pool, std::move(parts), pooled_options()), ErrorKind::BadInput,
                             "initial values"));
}

TEST_F(device_pool, a_device_that_is_not_exact_is_dropped_at_once) {
    testing::FaultInjector faults;
    faults.spoil_multiplications(true);
    ASSERT_OK_AND_ASSIGN(const Device spoilt, Device::create(testing::instance(), testing::device_index("lavapipe")));
    std::string notices;
    const std::array devices{spoilt, swiftshader()};
    ASSERT_OK_AND_ASSIGN(const DevicePool pool,
                         DevicePool::create(devices, {.on_drop = [&](const auto& text) { notices += text; }}));
    EXPECT_EQ(pool.in_use(), 1U);
    EXPECT_THAT(notices, HasSubstr("cannot run in exact mode"));
}

}  // namespace
}  // namespace yolk::evolve
