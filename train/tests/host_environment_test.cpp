// SPDX-License-Identifier: Apache-2.0
// Training in environments that the host steps.
#include "yolk/host_environment.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <functional>
#include <limits>
#include <set>

#include "run_files.hpp"
#include "temporary_folder.hpp"
#include "yolk/internal/testing/device_test.hpp"
#include "yolk/train.hpp"

namespace yolk::train {
namespace {

using ::testing::HasSubstr;
using ::yolk::testing::expect_error;

constexpr float kLineMark = 16.5F;  // a policy that does nothing comes to less
constexpr float kInfinite = std::numeric_limits<float>::infinity();

/// A point on a line, which is to come to 0: position and speed are observed. It ends where it has gone too far.
class Line final : public HostEnvironment {
   public:
    struct Lane {
        float position = 0.0F, speed = 0.0F;
    };
    /// May spoil what a step gives.
    using Spoil = std::function<Result<void>(const HostStep& step)>;

    Line(std::uint32_t lanes, bool box, Spoil spoil = {}, float mark = kInfinite)
        : lanes_(lanes), spoil_(std::move(spoil)) {
        info_ = {.name = "line",
                 .lanes = lanes,
                 .observation_count = 2,
                 .actions = box ? HostActions{.low = {-0.5F}, .high = {1.0F}} : HostActions{.count = 3},
                 .max_steps = 20,
                 .solved_return = mark};
    }
    [[nodiscard]] const HostEnvironmentInfo& info() const noexcept override { return info_; }
    [[nodiscard]] Result<void> reset(std::span<const std::uint32_t> seeds, std::span<float> observations) override {
        for (std::size_t i = 0; i < lanes_.size(); ++i) {
            lanes_[i] = {.position = static_cast<float>(seeds[i] % 1000U) / 1000.0F - 0.5F};
            show(i, observations);
        }
        return {};
    }
    [[nodiscard]] Result<void> step(const HostStep& step) override {
        for (std::size_t i = 0; i < lanes_.size(); ++i) {
            const float push = info_.actions.count != 0 ? step.actions[i] - 1.0F : step.actions[i];
            lanes_[i].speed += 0.1F * push;
            lanes_[i].position += 0.2F * lanes_[i].speed;
            step.rewards[i] = 1.0F - std::abs(lanes_[i].position);
            step.terminated[i] = std::abs(lanes_[i].position) > 1.0F ? 1 : 0;
            show(i, step.observations);
        }
        return spoil_ ? spoil_(step) : Result<void>();
    }

   private:
    void show(std::size_t lane, std::span<float> observations) const {
        observations[2 * lane] = lanes_[lane].position;
        observations[2 * lane + 1] = lanes_[lane].speed;
    }
    HostEnvironmentInfo info_;
    std::vector<Lane> lanes_;
    Spoil spoil_;
};

HostEnvironments lines(std::size_t copies, std::uint32_t lanes, bool box = false, const Line::Spoil& spoil = {}) {
    HostEnvironments all;
    for (std::size_t i = 0; i < copies; ++i) all.push_back(std::make_shared<Line>(lanes, box, spoil));
    return all;
}

class host_environment : public ::yolk::testing::DeviceTest {
   protected:
    [[nodiscard]] TrainOptions run(HostEnvironments environments, const std::string& folder = {}) const {
        const std::uint32_t outputs = environments.front()->info().actions.outputs();
        return {.host_environments = std::move(environments),
                .evolution = {.population = 16, .sigma_decay = 0.9F, .noise_reuse = 2, .seed = 3, .episodes = 2},
                .network = {.widths = {2, 6, outputs}},
                .generations = 3,
                .stop_when_solved = false,
                .max_steps = 6,
                .out = folder.empty() ? std::filesystem::path() : folder_.path() / folder,
                .evaluation_episodes = 10};
    }
    TemporaryFolder folder_;
};
YOLK_FOR_EACH_DEVICE(host_environment);

TEST_P(host_environment, a_seed_gives_the_run_however_members_are_stepped) {
    for (const bool box : {false, true}) {
        ASSERT_OK_AND_ASSIGN(const TrainOutcome whole, train(device(), run(lines(1, 16, box))));
        for (HostEnvironments other : {lines(2, 8, box), lines(3, 5, box)}) {
            ASSERT_OK_AND_ASSIGN(const TrainOutcome again, train(device(), run(std::move(other))));
            EXPECT_EQ(again.state_hash, whole.state_hash);
            EXPECT_EQ(again.eval_mean_return, whole.eval_mean_return);
        }
        TrainOptions others = run(lines(1, 16, box));
        others.evolution.seed = 4;
        ASSERT_OK_AND_ASSIGN(const TrainOutcome other, train(device(), others));
        EXPECT_NE(other.state_hash, whole.state_hash);
    }
}

TEST_P(host_environment, a_run_that_was_cut_off_ends_as_if_it_was_not) {
    ASSERT_OK_AND_ASSIGN(const TrainOutcome whole, train(device(), run(lines(2, 8), "whole")));
    TrainOptions options = run(lines(2, 8), "parts");
    ASSERT_OK(train(device(), options, [](const GenerationReport& report) { return report.generation < 1; }));
    options.host_environments = lines(1, 5);
    options.resume = true;
    ASSERT_OK_AND_ASSIGN(const TrainOutcome parts, train(device(), options));
    EXPECT_EQ(parts.resumed_from, 2U);
    EXPECT_EQ(parts.state_hash, whole.state_hash);
    EXPECT_EQ(parts.eval_mean_return, whole.eval_mean_return);
    for (const char* const name : {"policy.safetensors", "checkpoint.yolk", "log.yolk"})
        EXPECT_EQ(text_of(folder_.path() / "parts" / name), text_of(folder_.path() / "whole" / name)) << name;

    // The log needs no environment, and gives the policy, too.
    ASSERT_OK_AND_ASSIGN(const ReplayOutcome replayed,
                         replay(device(), folder_.path() / "whole", {.out = folder_.path() / "replayed"}));
    EXPECT_EQ(replayed.state_hash, whole.state_hash);
    EXPECT_EQ(text_of(replayed.policy), text_of(whole.policy));
}

TEST_P(host_environment, learns_and_its_policy_is_evaluated) {
    HostEnvironments environments;
    for (int i = 0; i < 2; ++i) environments.push_back(std::make_shared<Line>(32U, true, Line::Spoil(), kLineMark));
    TrainOptions options = run(environments, "run");
    options.evolution.population = 64;
    options.evolution.sigma_decay = 1.0F;
    options.generations = 60;
    options.max_steps = 0;
    options.evaluation_episodes = 50;
    options.stop_when_solved = true;
    float first = 0.0F, last = 0.0F;
    ASSERT_OK_AND_ASSIGN(const TrainOutcome outcome, train(device(), options, [&](const GenerationReport& report) {
                             (report.generation == 0 ? first : last) = report.policy_return;
                             return true;
                         }));
    EXPECT_TRUE(outcome.solved) << outcome.eval_mean_return;
    EXPECT_LT(outcome.generations, 60U);
    EXPECT_GT(last, first);
    ASSERT_OK_AND_ASSIGN(
        const EvalOutcome found,
        evaluate_policy(device(), outcome.policy, {.episodes = 50, .host_environments = lines(1, 8, true)}));
    EXPECT_EQ(found.task, "line");
    EXPECT_GT(found.mean_return, kLineMark);
    EXPECT_LE(found.best_return, 20.0);
    EXPECT_TRUE(expect_error(evaluate_policy(device(), outcome.policy), ErrorKind::BadInput, "which the host steps"));
    EXPECT_TRUE(expect_error(evaluate_policy(device(), outcome.policy, {.host_environments = lines(1, 8)}),
                             ErrorKind::BadInput, "values of a box"));
}

TEST_P(host_environment, counts_the_steps_of_live_members_and_cuts_long_episodes) {
    // One reward per step; a lane ends after as many steps as it has, from 1 to 8.
    const auto ends = [count = std::array<std::uint32_t, 8>{}](const HostStep& step) mutable -> Result<void> {
        for (std::size_t i = 0; i < 8; ++i) {
            count[i] = step.live[i] != 0 ? count[i] + 1 : 0;
            step.rewards[i] = step.live[i] != 0 ? 1.0F : 1000.0F;
            step.truncated[i] = count[i] == i + 1 ? 1 : 0;
        }
        if (std::ranges::all_of(step.live, [](std::uint8_t live) { return live == 0; })) count = {};
        return {};
    };
    TrainOptions options = run(lines(1, 8, false, ends));
    options.evolution.population = 8;
    options.evolution.episodes = 1;
    options.max_steps = 0;
    options.generations = 1;
    ASSERT_OK(train(device(), options, [](const GenerationReport& report) {
        EXPECT_EQ(report.evaluations, 36U);
        EXPECT_EQ(report.mean_return, 4.5F);
        EXPECT_EQ(report.best_return, 8.0F);
        return true;
    }));
    options.max_steps = 3;
    options.host_environments = lines(1, 8, false, ends);
    ASSERT_OK(train(device(), options, [](const GenerationReport& report) {
        EXPECT_EQ(report.evaluations, 1U + 2U + 6U * 3U);
        EXPECT_EQ(report.best_return, 3.0F);
        return true;
    }));
}

TEST_P(host_environment, what_goes_wrong_is_named_and_what_was_done_is_kept) {
    ASSERT_OK_AND_ASSIGN(const TrainOutcome whole, train(device(), run(lines(1, 16))));
    std::uint32_t steps = 0;
    const auto fails_with = [&](const Line::Spoil& spoil, const std::string& words) {
        steps = 0;
        TrainOptions options = run(
            lines(1, 16, false,
                  [&](const HostStep& step) -> Result<void> { return ++steps > 30 ? spoil(step) : Result<void>(); }),
            "failing");
        EXPECT_TRUE(expect_error(train(device(), options), ErrorKind::Failed, words));
        options.host_environments = lines(1, 16);
        options.resume = true;
        ASSERT_OK_AND_ASSIGN(const TrainOutcome resumed, train(device(), options));
        EXPECT_GT(resumed.resumed_from, 0U);
        EXPECT_EQ(resumed.state_hash, whole.state_hash);
        std::filesystem::remove_all(folder_.path() / "failing");
    };
    fails_with(
        [](const HostStep& step) -> Result<void> {
            step.observations[2 * 5 + 1] = kInfinite;
            return {};
        },
        "observation 1 of ");
    // An error that a device could have made ends the run, and does not drop the device.
    fails_with([](const HostStep&) -> Result<void> { return unsupported("no more steps"); }, "no more steps");

    // A score that is not a number is the worst, as everywhere.
    std::uint32_t not_finite = 0;
    ASSERT_OK(train(device(),
                    run(lines(1, 16, false,
                              [](const HostStep& step) -> Result<void> {
                                  step.rewards[3] = std::nanf("");
                                  return {};
                              })),
                    [&](const GenerationReport& report) {
                        not_finite += report.not_finite;
                        return true;
                    }));
    EXPECT_EQ(not_finite, 3U);
}

TEST_P(host_environment, refuses_what_does_not_fit) {
    const auto refused = [&](const TrainOptions& options, const std::string& words) {
        EXPECT_TRUE(expect_error(train(device(), options), ErrorKind::BadInput, words));
    };
    TrainOptions options = run(lines(1, 4));
    options.network.widths = {3, 6, 3};
    refused(options, "must begin with 2");
    options = run(lines(1, 4));
    options.max_steps = 21;
    refused(options, "has at most 20");
    HostEnvironments differ = lines(1, 4);
    differ.push_back(lines(1, 5).front());
    refused(run(differ), "copies of one");
    differ.back() = nullptr;
    refused(run(differ), "empty pointer");
    EXPECT_TRUE(expect_error(train_twin(run(lines(1, 4))), ErrorKind::Unsupported, "cannot step"));
}

TEST(host_environment_info, is_checked) {
    const HostEnvironmentInfo good{.name = "x", .lanes = 1, .observation_count = 1, .actions = {.count = 2}};
    EXPECT_OK(check_host_environment(good));
    const auto refused = [&](const std::function<void(HostEnvironmentInfo&)>& change, const std::string& words) {
        HostEnvironmentInfo info = good;
        change(info);
        EXPECT_TRUE(expect_error(check_host_environment(info), ErrorKind::BadInput, words));
    };
    refused([](auto& info) { info.name.clear(); }, "name");
    refused([](auto& info) { info.name = "a\nb"; }, "name");
    refused([](auto& info) { info.lanes = 0; }, "0 lanes");
    refused([](auto& info) { info.observation_count = 0; }, "0 observations");
    refused([](auto& info) { info.observation_count = kMaxHostWidth + 1; }, "observations");
    refused([](auto& info) { info.actions = {}; }, "0 actions");
    refused([](auto& info) { info.actions.low = {1.0F}; }, "1 lower");
    refused([](auto& info) { info.actions = {.low = {1.0F, 2.0F}, .high = {2.0F, 2.0F}}; }, "Action 1");
    refused([](auto& info) { info.actions = {.low = {std::nanf("")}, .high = {2.0F}}; }, "Action 0");
    refused([](auto& info) { info.solved_return = std::nanf(""); }, "not a number");
}

TEST(host_environment_info, is_text_and_comes_back) {
    const auto comes_back = [](const HostActions& actions, const std::string& text) {
        const HostEnvironmentInfo info{.name = "x", .lanes = 1, .observation_count = 3, .actions = actions};
        EXPECT_EQ(host_source(info), text);
        ASSERT_OK_AND_ASSIGN(const HostEnvironmentInfo found, host_info_of_source(text));
        EXPECT_EQ(found.observation_count, 3U);
        EXPECT_EQ(found.actions, actions);
    };
    comes_back({.count = 4}, "host, 3 observations, discrete 4");
    comes_back({.low = {-2.0F}, .high = {2.0F}}, "host, 3 observations, box -2:2");
    comes_back({.low = {-1.0F, -1.0F, 0.1F, -kInfinite}, .high = {1.0F, 1.0F, kInfinite, kInfinite}},
               "host, 3 observations, box -1:1x2 0.1:inf -inf:inf");
    for (const char* const bad :
         {"host", "host, 3 observations", "host, 3 observations, discrete 0", "host, 3 observations, discrete 2 ",
          "host, 3 observations, box", "built-in", "host, 3 observations, box 1:0", "host, 3 observations, box 0:1x0",
          "host, -1 observations, discrete 2"})
        EXPECT_TRUE(expect_error(host_info_of_source(bad), ErrorKind::BadInput, "does not describe")) << bad;
}

TEST(host_action_rule, is_clipped_and_scaled) {
    const auto action_of = [](const HostActions& actions, std::vector<float> outputs) {
        std::vector<float> action(actions.values());
        host_action(actions, outputs, action);
        return action;
    };
    const HostActions three{.count = 3};
    EXPECT_EQ(action_of(three, {0.0F, 2.0F, 2.0F}), std::vector{1.0F});
    EXPECT_EQ(action_of(three, {std::nanf(""), -1.0F, -kInfinite}), std::vector{0.0F});
    const HostActions box{.low = {-1.0F, 0.0F, 2.0F, -kInfinite, 0.0F},
                          .high = {1.0F, 4.0F, 3.0F, kInfinite, kInfinite}};
    EXPECT_EQ(action_of(box, {0.5F, 0.0F, -7.0F, 9.0F, -3.0F}), (std::vector{0.5F, 2.0F, 2.0F, 9.0F, 0.0F}));
    EXPECT_EQ(action_of(box, {kInfinite, -1.0F, 1.0F, std::nanf(""), 5.0F}),
              (std::vector{1.0F, 0.0F, 3.0F, 0.0F, 5.0F}));
}

TEST(host_episodes, have_seeds_of_their_own) {
    EXPECT_EQ(host_episode_seed(7, 1, 2), host_episode_seed(7, 1, 2));
    std::set<std::uint32_t> all;
    for (std::uint32_t generation = 0; generation < 10; ++generation) {
        for (std::uint32_t episode = 0; episode < 10; ++episode) {
            const std::uint32_t seed = host_episode_seed(7, generation, episode);
            EXPECT_LT(seed, 1U << 31U);
            all.insert(seed);
        }
    }
    EXPECT_EQ(all.size(), 100U);
}

class host_environment_pool : public ::testing::Test {};
TEST_F(host_environment_pool, devices_share_the_members) {
    const std::vector<Device> both{testing::other_device().device, testing::first_device().device};
    const auto options = [](HostEnvironments environments) {
        return TrainOptions{.host_environments = std::move(environments),
                            .evolution = {.population = 64, .seed = 3},
                            .network = {.widths = {2, 6, 3}},
                            .generations = 2,
                            .stop_when_solved = false,
                            .max_steps = 6,
                            .out = {},
                            .evaluation_episodes = 4};
    };
    ASSERT_OK_AND_ASSIGN(const TrainOutcome one, train(both.front(), options(lines(1, 16))));
    ASSERT_OK_AND_ASSIGN(const TrainOutcome outcome, train(both, options(lines(2, 8))));
    EXPECT_EQ(outcome.state_hash, one.state_hash);
    ASSERT_EQ(outcome.devices.size(), 2U);
    EXPECT_EQ(outcome.devices[0].members + outcome.devices[1].members, 2U * 64U);
    EXPECT_GT(std::min(outcome.devices[0].members, outcome.devices[1].members), 0U);
    TrainOptions audited = options(lines(4, 8));
    audited.audit = 0.5;
    ASSERT_OK_AND_ASSIGN(const TrainOutcome second, train(both, audited));
    EXPECT_EQ(second.state_hash, one.state_hash);
    EXPECT_GT(second.devices[0].audited + second.devices[1].audited, 0U);
    EXPECT_TRUE(expect_error(train(both, options(lines(1, 8))), ErrorKind::BadInput, "2 devices and 1 environment"));
}

}  // namespace
}  // namespace yolk::train
