// SPDX-License-Identifier: Apache-2.0
#include "yolk/rollout.hpp"

#include <gmock/gmock.h>

#include <cmath>
#include <numeric>
#include <vector>

#include "yolk/internal/oracle/family.hpp"
#include "yolk/internal/oracle/guarded.hpp"
#include "yolk/internal/testing/device_test.hpp"
#include "yolk/twin.hpp"

namespace yolk {
namespace {

using ::testing::Each;

constexpr NoiseContext kRolloutContext{.seed = 3, .generation = 2, .time = 1, .sigma = 0.2F};

RolloutDesc network_rollout(std::vector<std::uint32_t> widths, std::uint32_t members, std::uint32_t max_steps) {
    RolloutDesc desc{.members = members, .max_steps = max_steps};
    desc.network.widths = std::move(widths);
    desc.parameters = *ParameterTable::create(desc.network.parameters());
    return desc;
}

/// Weights that balance the pole for a while: push towards where it leans.
std::vector<float> parameters_of(const RolloutDesc& desc) {
    std::vector<float> parameters(desc.parameters.element_count());
    for (std::size_t i = 0; i < parameters.size(); ++i) {
        parameters[i] = 0.5F * std::sin(static_cast<float>(i * i));
    }
    return parameters;
}

struct Outcome {
    std::vector<float> returns;
    std::uint64_t evaluations = 0;
};

Outcome twin_outcome(const RolloutDesc& desc) {
    std::vector<std::uint32_t> counters(kEvaluationCounters);
    Outcome twin{.returns = std::vector<float>(std::size_t{desc.members} * desc.episodes)};
    reference::twin_of(desc, {parameters_of(desc), twin.returns, counters}, kRolloutContext);
    twin.evaluations = std::accumulate(counters.begin(), counters.end(), std::uint64_t{0});
    return twin;
}

class rollout : public testing::DeviceTest {
   protected:
    struct Buffers {
        oracle::GuardedBuffer parameters, returns, evaluations, scratch;
    };

    Result<Buffers> make_buffers(const RolloutDesc& desc, std::uint64_t scratch_bytes) {
        const auto make = [&](std::uint64_t size_bytes, const char* label) {
            return oracle::GuardedBuffer::create(device(), dispatcher(), size_bytes, oracle::kPoisons[0], label);
        };
        const std::uint64_t members = desc.mean_only ? 1 : desc.members;
        Buffers buffers;
        YOLK_TRY(buffers.parameters, make(desc.parameters.size_bytes(), "parameters"));
        YOLK_TRY(buffers.returns, make(4 * members * desc.episodes, "returns"));
        YOLK_TRY(buffers.evaluations, make(std::uint64_t{4} * kEvaluationCounters, "evaluations"));
        YOLK_TRY(buffers.scratch, make(scratch_bytes, "scratch"));
        YOLK_TRY_VOID(buffers.parameters.upload(parameters_of(desc)));
        return buffers;
    }

    static Result<BoundRollout> bind(const RolloutPlan& plan, const Buffers& buffers) {
        return plan.bind({.parameters = buffers.parameters.view(),
                          .returns = buffers.returns.view(),
                          .evaluations = buffers.evaluations.view()},
                         buffers.scratch.view());
    }

    static Result<Outcome> read(const Buffers& buffers) {
        Outcome outcome;
        YOLK_TRY(outcome.returns, buffers.returns.download<float>());
        YOLK_TRY(const auto counters, buffers.evaluations.download<std::uint32_t>());
        outcome.evaluations = std::accumulate(counters.begin(), counters.end(), std::uint64_t{0});
        return outcome;
    }

    Result<Outcome> run(const RolloutDesc& desc, const NoiseContext& when = kRolloutContext,
                        std::uint32_t first_episode = 0) {
        YOLK_TRY(const RolloutPlan plan, plan_rollout(device(), desc));
        YOLK_TRY(const Buffers buffers, make_buffers(desc, plan.scratch().size_bytes));
        YOLK_TRY(const BoundRollout bound, bind(plan, buffers));
        YOLK_TRY(Recorder recorder, Recorder::create(device()));
        recorder.begin();
        bound.record(recorder, when, {.first_episode = first_episode});
        YOLK_TRY_VOID(dispatcher().run(recorder));
        return read(buffers);
    }

    ::testing::AssertionResult refused(const RolloutDesc& desc, std::string_view part) {
        return testing::expect_error(plan_rollout(device(), desc), ErrorKind::BadInput, part);
    }
};
YOLK_FOR_EACH_DEVICE(rollout);

// 150 steps of a wide network with loops. In one dispatch of 128 steps lavapipe 22.3 leaves its loops after 64 of them
// (seen with the split taken out), and the returns fall short.
TEST_P(rollout, long_episodes_are_split_over_dispatches) {
    RolloutDesc desc = network_rollout({4, 256, 2}, 10, 150);
    desc.never_stop = true;
    desc.config = RolloutConfig{.unrolled = false};
    ASSERT_OK_AND_ASSIGN(const RolloutPlan plan, plan_rollout(device(), desc));
    EXPECT_GE(rollout_dispatches(plan), device().findings().loop_limit.has_value() ? 4U : 2U);
    ASSERT_OK_AND_ASSIGN(const Outcome outcome, run(desc));
    EXPECT_THAT(outcome.returns, Each(150.0F));
    EXPECT_EQ(outcome.evaluations, 1500U);
}

// One plan rolls out any members: what devices that share a population do.
TEST_P(rollout, parts_of_a_population_are_the_whole) {
    for (const bool antithetic : {true, false}) {
        RolloutDesc desc = network_rollout({4, 8, 2}, 22, 30);
        desc.episodes = 2;
        desc.antithetic = antithetic;
        const Outcome whole = twin_outcome(desc);
        ASSERT_OK_AND_ASSIGN(const RolloutPlan plan, plan_rollout(device(), desc));
        ASSERT_OK_AND_ASSIGN(const Buffers buffers, make_buffers(desc, plan.scratch().size_bytes));
        ASSERT_OK_AND_ASSIGN(const BoundRollout bound, bind(plan, buffers));
        std::uint64_t evaluations = 0;
        for (const RolloutPart part :
             {RolloutPart{.first_member = 0, .members = 2}, RolloutPart{.first_member = 2, .members = 13},
              RolloutPart{.first_member = 15, .members = 7}}) {
            ASSERT_OK_AND_ASSIGN(Recorder recorder, Recorder::create(device()));
            recorder.begin();
            bound.record(recorder, kRolloutContext, part);
            ASSERT_OK(dispatcher().run(recorder));
            ASSERT_OK_AND_ASSIGN(const Outcome outcome, read(buffers));
            for (std::uint32_t i = 0; i < part.members * 2; ++i) {
                const std::uint32_t member = part.first_member + i % part.members;
                EXPECT_EQ(outcome.returns[i], whole.returns[(i / part.members) * 22 + member]) << member;
            }
            evaluations += outcome.evaluations;
        }
        EXPECT_EQ(evaluations, whole.evaluations);
    }
}

TEST_P(rollout, parts_outside_the_description_are_refused) {
    RolloutDesc desc = network_rollout({4, 8, 2}, 22, 3);
    desc.episodes = 2;
    ASSERT_OK_AND_ASSIGN(const RolloutPlan plan, plan_rollout(device(), desc));
    ASSERT_OK_AND_ASSIGN(const Buffers buffers, make_buffers(desc, plan.scratch().size_bytes));
    ASSERT_OK_AND_ASSIGN(const BoundRollout bound, bind(plan, buffers));
    ASSERT_OK_AND_ASSIGN(Recorder recorder, Recorder::create(device()));
    const auto recorded = [&](const RolloutPart& part) {
        recorder.begin();
        bound.record(recorder, kRolloutContext, part);
        return dispatcher().run(recorder);
    };
    const auto is_refused = [&](const RolloutPart& part, std::string_view message) {
        return testing::expect_error(recorded(part), ErrorKind::BadInput, message);
    };
    EXPECT_TRUE(is_refused({.members = 23}, "A part of [rollout] has 23 members from 0 on; a call has at most 22"));
    EXPECT_TRUE(is_refused({.episodes = 3}, "A part of [rollout] has 3 episodes from 0 on; a call has at most 2"));
    EXPECT_TRUE(is_refused({.first_member = 0xFFFFFFFF, .members = 2}, "2 members from 4294967295 on"));
    EXPECT_TRUE(is_refused({.first_member = 0xFFFFFFF0}, "22 members from 4294967280 on"));
    EXPECT_TRUE(is_refused({.first_episode = 0xFFFFFFFF}, "2 episodes from 4294967295 on"));
    EXPECT_OK(recorded({.first_episode = 0xFFFFFFFE, .first_member = 0xFFFFFFFE, .members = 2}));
    desc.mean_only = true;
    ASSERT_OK_AND_ASSIGN(const RolloutPlan mean, plan_rollout(device(), desc));
    ASSERT_OK_AND_ASSIGN(const Buffers mean_buffers, make_buffers(desc, mean.scratch().size_bytes));
    ASSERT_OK_AND_ASSIGN(const BoundRollout mean_bound, bind(mean, mean_buffers));
    recorder.begin();
    mean_bound.record(recorder, kRolloutContext, {.first_member = 0xFFFFFFFF, .members = 9});  // both are ignored
    EXPECT_OK(dispatcher().run(recorder));
}

// Every step's outputs differ a little: the fast kernel is another one. What it may give, matches_oracle_and_twin
// holds.
TEST_P(rollout, fast_takes_another_kernel) {
    RolloutDesc desc = network_rollout({4, 8, 2}, 2, 1);
    const auto shaders = [&]() -> std::uint64_t { return device().counts().pipelines_created; };
    ASSERT_OK(plan_rollout(device(), desc));
    const std::uint64_t before = shaders();
    ASSERT_OK(plan_rollout(device(), desc));
    EXPECT_EQ(shaders(), before);
    desc.determinism = Determinism::Fast;
    ASSERT_OK(plan_rollout(device(), desc));
    EXPECT_EQ(shaders(), before + 1);
}

// Recording again over used buffers gives the same: the counters start from zero, the slots are not read.
TEST_P(rollout, can_be_recorded_and_submitted_again) {
    const RolloutDesc desc = network_rollout({4, 8, 2}, 9, 30);
    ASSERT_OK_AND_ASSIGN(const RolloutPlan plan, plan_rollout(device(), desc));
    ASSERT_OK_AND_ASSIGN(const Buffers buffers, make_buffers(desc, plan.scratch().size_bytes));
    ASSERT_OK_AND_ASSIGN(const BoundRollout bound, bind(plan, buffers));
    ASSERT_OK_AND_ASSIGN(Recorder recorder, Recorder::create(device()));
    recorder.begin();
    bound.record(recorder, kRolloutContext);
    recorder.barrier(Barrier::ComputeToCompute);
    bound.record(recorder, kRolloutContext);
    ASSERT_OK(dispatcher().run(recorder));
    ASSERT_OK(dispatcher().run(recorder));
    ASSERT_OK_AND_ASSIGN(const Outcome outcome, read(buffers));
    const Outcome twin = twin_outcome(desc);
    EXPECT_EQ(outcome.returns, twin.returns);
    EXPECT_EQ(outcome.evaluations, twin.evaluations);
}

// Two thirds of the scratch, and the least of it: the episodes run in turns.
TEST_P(rollout, less_scratch_gives_the_same) {
    RolloutDesc desc = network_rollout({4, 2, 2}, 4500, 12);
    desc.episodes = 2;
    ASSERT_OK_AND_ASSIGN(const RolloutPlan plan, plan_rollout(device(), desc));
    const MemoryNeeds needs = plan.scratch();
    EXPECT_EQ(needs.size_bytes, 9000U * 24);
    EXPECT_EQ(needs.least(), 4096U * 24);
    ASSERT_OK_AND_ASSIGN(const Outcome whole, run(desc));
    for (const std::uint64_t scratch_bytes : {6000U * std::uint64_t{24} + 5, needs.least()}) {
        ASSERT_OK_AND_ASSIGN(const Buffers buffers, make_buffers(desc, scratch_bytes));
        ASSERT_OK_AND_ASSIGN(const BoundRollout bound, bind(plan, buffers));
        ASSERT_OK_AND_ASSIGN(Recorder recorder, Recorder::create(device()));
        bound.record(recorder, kRolloutContext);
        EXPECT_EQ(recorder.dispatch_count(), scratch_bytes == needs.least() ? 3U : 2U);
        ASSERT_OK(dispatcher().run(recorder));
        ASSERT_OK_AND_ASSIGN(const Outcome outcome, read(buffers));
        EXPECT_EQ(outcome.returns, whole.returns);
        EXPECT_EQ(outcome.evaluations, whole.evaluations);
        ASSERT_OK_AND_ASSIGN(const std::uint64_t damaged, buffers.scratch.damaged_words());
        EXPECT_EQ(damaged, 0U);
    }
}

// Members share the resets of an episode: without noise, all of them live the same life, which is the mean's.
TEST_P(rollout, members_without_noise_are_the_mean) {
    RolloutDesc desc = network_rollout({4, 8, 2}, 6, 60);
    desc.episodes = 2;
    NoiseContext silent = kRolloutContext;
    silent.sigma = 0.0F;
    ASSERT_OK_AND_ASSIGN(const Outcome members, run(desc, silent));
    desc.mean_only = true;
    ASSERT_OK_AND_ASSIGN(const Outcome mean, run(desc));
    for (std::size_t i = 0; i < members.returns.size(); ++i) EXPECT_EQ(members.returns[i], mean.returns[i / 6]);
}

TEST_P(rollout, episodes_do_not_depend_on_the_range_they_are_run_in) {
    RolloutDesc desc = network_rollout({4, 8, 2}, 3, 60);
    desc.episodes = 3;
    ASSERT_OK_AND_ASSIGN(const Outcome together, run(desc, kRolloutContext, 5));
    desc.episodes = 1;
    std::vector<float> one_by_one;
    for (std::uint32_t episode = 5; episode < 8; ++episode) {
        ASSERT_OK_AND_ASSIGN(const Outcome part, run(desc, kRolloutContext, episode));
        one_by_one.insert(one_by_one.end(), part.returns.begin(), part.returns.end());
    }
    EXPECT_EQ(together.returns, one_by_one);
}

// One invocation per workgroup makes the smallest grid that needs folding: more groups than a dimension takes.
TEST_P(rollout, grids_beyond_one_dimension) {
    RolloutDesc desc = network_rollout({4, 2}, 65537, 1);
    desc.config = RolloutConfig{.workgroup_size = 1};
    ASSERT_OK_AND_ASSIGN(const Outcome outcome, run(desc));
    EXPECT_THAT(outcome.returns, Each(1.0F));
    EXPECT_EQ(outcome.evaluations, 65537U);
}

TEST_P(rollout, descriptions_outside_their_limits_are_refused) {
    const RolloutDesc good = network_rollout({4, 3, 2}, 2, 1);
    EXPECT_OK(plan_rollout(device(), good));
    const auto with = [&](auto change) {
        RolloutDesc desc = good;
        change(desc);
        return desc;
    };
    EXPECT_TRUE(
        refused(with([](RolloutDesc& d) { d.environment = "carpole"; }), "\"carpole\"; known ones: acrobot, cartpole"));
    EXPECT_TRUE(refused(with([](RolloutDesc& d) { d.members = 0; }), "members of [rollout]"));
    const auto of_ranks = [](RolloutDesc& d) {
        std::vector<ParameterDesc> parameters = d.network.parameters();
        parameters[2].rank = 2;
        d.parameters = *ParameterTable::create(parameters);
    };
    EXPECT_TRUE(refused(with(of_ranks), "\"layer1.weight\" of [rollout] has noise of rank 2; all matrices"));
    EXPECT_OK(plan_rollout(device(), with([&](RolloutDesc& d) { of_ranks(d), d.mean_only = true; })));
    EXPECT_TRUE(refused(with([](RolloutDesc& d) { d.episodes = 0; }), "episodes of [rollout]"));
    EXPECT_TRUE(refused(with([](RolloutDesc& d) { d.rank = 0; }), "rank of [rollout] is 0"));
    EXPECT_TRUE(refused(with([](RolloutDesc& d) { d.rank = 33; }), "rank of [rollout] is 33"));
    EXPECT_TRUE(refused(with([](RolloutDesc& d) { d.max_steps = 501; }), "max_steps of [rollout]"));
    EXPECT_TRUE(refused(with([](RolloutDesc& d) { d.config = RolloutConfig{.workgroup_size = 0}; }),
                        "workgroup_size of [rollout]"));
    EXPECT_TRUE(refused(with([](RolloutDesc& d) { d.config = RolloutConfig{.workgroup_size = 257}; }),
                        "workgroup_size of [rollout]"));
}

TEST_P(rollout, networks_that_do_not_fit_are_refused) {
    EXPECT_TRUE(refused(network_rollout({3, 2}, 1, 1), "3 inputs and 2 outputs"));
    EXPECT_TRUE(refused(network_rollout({4, 3}, 1, 1), "4 inputs and 3 outputs"));
    EXPECT_TRUE(refused(network_rollout({4}, 1, 1), "number of widths"));
    EXPECT_TRUE(refused(network_rollout({4, 2, 2, 2, 2, 2}, 1, 1), "number of widths"));
    EXPECT_TRUE(refused(network_rollout({4, 257, 2}, 1, 1), "width"));
    EXPECT_TRUE(refused(network_rollout({4, 128, 128, 2}, 1, 1), "at most 16384 fit in a uniform"));
}

TEST_P(rollout, parameters_that_are_not_the_networks_are_refused) {
    RolloutDesc desc = network_rollout({4, 3, 2}, 1, 1);
    const auto with = [&](auto change) {
        std::vector<ParameterDesc> parameters = desc.network.parameters();
        change(parameters);
        desc.parameters = *ParameterTable::create(parameters);
        return desc;
    };
    EXPECT_TRUE(refused(with([](auto& p) { p.pop_back(); }), "3 parameters; its network has 4"));
    EXPECT_TRUE(refused(with([](auto& p) { p[0].rows = 4; }), "\"layer0.weight\" of 4 by 4"));
    EXPECT_TRUE(refused(with([](auto& p) { std::swap(p[1], p[3]); }), "\"layer1.bias\""));
    EXPECT_TRUE(refused(with([](auto& p) { p[1].perturbation = Perturbation::LowRank; }), "only freezing"));
}

// 2^32 returns fit in no binding; 2^24 returns of 4 bytes do, their slots of 24 bytes do not.
TEST_P(rollout, sizes_beyond_a_binding_are_refused) {
    RolloutDesc desc = network_rollout({4, 2}, 0x80000000U, 1);
    desc.episodes = 0x80000000U;
    EXPECT_TRUE(refused(desc, "the returns view of [rollout]"));
    desc.members = 1U << 30U;
    desc.episodes = 4;
    EXPECT_TRUE(refused(desc, "of [rollout] needs"));
}

TEST_P(rollout, wrong_views_are_refused) {
    const RolloutDesc desc = network_rollout({4, 3, 2}, 5, 1);  // 23 parameters, 5 returns, 5 slots of 24 bytes
    ASSERT_OK_AND_ASSIGN(const RolloutPlan plan, plan_rollout(device(), desc));
    EXPECT_EQ(plan.scratch().size_bytes, 120U);
    ASSERT_OK_AND_ASSIGN(const Buffer buffer, device().create_buffer({.size_bytes = 4096, .label = "all"}));
    const RolloutViews good{
        .parameters = {buffer, 0, 92}, .returns = {buffer, 256, 20}, .evaluations = {buffer, 512, 1024}};
    const BufferView scratch(buffer, 1536, 120);
    const auto refuses = [&](auto change, std::string_view part) {
        RolloutViews views = good;
        BufferView changed_scratch = scratch;
        change(views, changed_scratch);
        return testing::expect_error(plan.bind(views, changed_scratch), ErrorKind::BadInput, part);
    };
    EXPECT_OK(plan.bind(good, scratch));
    EXPECT_TRUE(refuses([&](auto& v, auto&) { v.parameters = {buffer, 0, 88}; }, "the parameters view of [rollout]"));
    EXPECT_TRUE(refuses([&](auto& v, auto&) { v.returns = {}; }, "the returns view of [rollout]"));
    EXPECT_TRUE(refuses([&](auto& v, auto&) { v.evaluations.size_bytes = 1020; }, "the evaluations view of [rollout]"));
    EXPECT_TRUE(refuses([&](auto&, auto& s) { s.size_bytes = 116; }, "the scratch view of [rollout]"));
    EXPECT_TRUE(refuses([&](auto&, auto& s) { s.offset_bytes = 1408; }, "the scratch view of [rollout]"));
    EXPECT_TRUE(refuses([&](auto&, auto& s) { s.offset_bytes = 256; }, "[rollout]"));  // overlaps the returns
}

// Continuous actions in each form of the kernel, and the other environments in the usual one (SwiftShader compiles each
// for seconds): a linear policy, one hidden layer, two.
TEST_P(rollout, every_environment_gives_the_twins_bits) {
    for (const EnvironmentInfo& environment : environments()) {
        std::vector<RolloutConfig> forms{{}};
        if (environment.name == "pendulum") {
            forms = {{.unrolled = 0, .private_parameters = 0, .packed = 0},
                     {.unrolled = 1, .private_parameters = 1, .packed = 0},
                     {.unrolled = 1, .private_parameters = 0, .packed = 1}};
        }
        for (const RolloutConfig& form : forms) {
            std::vector<std::uint32_t> widths{environment.observation_count, 5, environment.action_count};
            if (environment.name == "mountain_car_continuous") widths.erase(widths.begin() + 1);
            RolloutDesc desc = network_rollout(widths, 6, 120);
            desc.environment = std::string(environment.name);
            desc.episodes = 2;
            if (environment.name == "pendulum") desc.config = form;
            ASSERT_OK_AND_ASSIGN(const Outcome got, run(desc));
            const Outcome twin = twin_outcome(desc);
            EXPECT_EQ(got.returns, twin.returns) << environment.name;
            EXPECT_EQ(got.evaluations, twin.evaluations) << environment.name;
        }
    }
}

// The first step's reward depends on nothing but the start and a thousandth of the torque squared; three steps multiply
// a difference of 4 N m * 1.2e-4 in the torque by less than 10.
TEST_P(rollout, fast_continuous_actions_are_near_the_exact_ones) {
    RolloutDesc desc = network_rollout({3, 8, 1}, 16, 3);
    desc.environment = "pendulum";
    const Outcome exact = twin_outcome(desc);
    desc.determinism = Determinism::Fast;
    ASSERT_OK_AND_ASSIGN(const Outcome fast, run(desc));
    for (std::size_t i = 0; i < exact.returns.size(); ++i)
        EXPECT_NEAR(fast.returns[i], exact.returns[i], 5e-3) << "member " << i;
}

}  // namespace
}  // namespace yolk
