// SPDX-License-Identifier: Apache-2.0
// Policies with a recurrent layer: their runs have one hash wherever and however they are made, and learn what needs a
// memory.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "temporary_folder.hpp"
#include "yolk/internal/testing/device_test.hpp"
#include "yolk/internal/train/policy_file.hpp"
#include "yolk/train.hpp"

namespace yolk::train {
namespace {

using ::testing::ElementsAre;
using ::yolk::testing::expect_error;

TrainOptions recurrent_run(const std::filesystem::path& out) {
    return {.task = "cartpole",
            .evolution = {.population = 64, .rank = 2, .noise_reuse = 2, .optimizer = OptimizerRule::Adam, .seed = 3},
            .network = {.widths = {4, 5, 2}, .recurrent = 6},
            .generations = 4,
            .stop_when_solved = false,
            .max_steps = 30,
            .out = out,
            .evaluation_episodes = 20};
}

class recurrent_training : public ::yolk::testing::DeviceTest {
   protected:
    [[nodiscard]] std::filesystem::path file(const std::string& name) const { return folder_.path() / name; }
    TemporaryFolder folder_;
};
YOLK_FOR_EACH_DEVICE(recurrent_training);

TEST_P(recurrent_training, a_run_has_the_twins_hash_and_so_have_its_parts_and_its_replay) {
    ASSERT_OK_AND_ASSIGN(const std::vector<std::string> expected, train_twin(recurrent_run({})));
    TrainOptions options = recurrent_run(file("parts"));
    ASSERT_OK(train(device(), options, [](const GenerationReport& report) { return report.generation < 1; }));
    options.resume = true;
    std::vector<std::string> hashes;
    ASSERT_OK_AND_ASSIGN(const TrainOutcome parts, train(device(), options, [&](const GenerationReport& report) {
                             hashes.push_back(report.state_hash);
                             return true;
                         }));
    EXPECT_EQ(parts.resumed_from, 2U);
    EXPECT_THAT(hashes, ElementsAre(expected[2], expected[3]));
    for (const std::uint32_t generation : {1U, 4U}) {
        ASSERT_OK_AND_ASSIGN(const ReplayOutcome replayed,
                             replay(device(), file("parts"), {.generation = generation, .out = file("replayed")}));
        EXPECT_EQ(replayed.state_hash, expected[generation - 1]);
    }
    ASSERT_OK_AND_ASSIGN(const ReplayOutcome host, replay(evolve::Devices::none(), file("parts")));
    EXPECT_EQ(host.state_hash, expected.back());
    EXPECT_EQ(text_of(file("replayed") / "policy.safetensors"), text_of(parts.policy));
    ASSERT_OK_AND_ASSIGN(const EvalOutcome evaluated, evaluate_policy(device(), parts.policy, {.episodes = 20}));
    EXPECT_GE(evaluated.worst_return, 1.0);
}

TEST(recurrent_pool, two_vendors_end_in_the_bits_of_the_twin) {
    TrainOptions options = recurrent_run({});
    options.evolution.episodes = 2;
    options.evolution.freeze = {"recurrent.gate.bias", "layer0.weight"};
    ASSERT_OK_AND_ASSIGN(const std::vector<std::string> expected, train_twin(options));
    const std::vector<Device> both{testing::other_device().device, testing::first_device().device};
    ASSERT_OK_AND_ASSIGN(const TrainOutcome outcome, train(both, options));
    EXPECT_EQ(outcome.state_hash, expected.back());
}

// The poles of CartPole fall to where they lean faster and faster; position and angle alone do not say how fast. What a
// feed-forward policy can do with them ends below 50 steps, whatever it is trained for.
TEST_P(recurrent_training, learns_what_needs_a_memory) {
    ASSERT_OK_AND_ASSIGN(const auto environment,
                         load_environment(YOLK_EXAMPLES_FOLDER "/environments/cartpole_by_position.glsl"));
    const auto best_policy = [&](std::uint32_t units, std::vector<std::uint32_t> widths) {
        TrainOptions options{
            .own_environment = environment,
            .evolution = {.population = 512, .learning_rate = 0.05F, .optimizer = OptimizerRule::Adam, .episodes = 4},
            .network = {.widths = std::move(widths), .recurrent = units},
            .generations = 40,
            .max_steps = 200,
            .out = {},
            .hash_every = 0,
            .evaluation_episodes = 1};
        float best = 0.0F;
        EXPECT_OK(train(device(), options, [&](const GenerationReport& report) {
            best = std::max(best, report.policy_return);
            return best < 150.0F;
        }));
        return best;
    };
    EXPECT_LT(best_policy(0, {2, 8, 2}), 60.0F);
    EXPECT_GE(best_policy(8, {2, 2}), 150.0F);
}

TEST_P(recurrent_training, what_does_not_fit_is_refused) {
    TrainOptions options = recurrent_run({});
    options.network.recurrent = 257;
    EXPECT_TRUE(
        expect_error(train(device(), options), ErrorKind::BadInput, "257 recurrent units; at most 256 are allowed"));
    options.network.recurrent = 90;
    EXPECT_TRUE(expect_error(train(device(), options), ErrorKind::BadInput,
                             "17567 parameter elements; at most 16384 fit in a uniform buffer (64 KiB). Use smaller "
                             "widths, or fewer recurrent units"));
    options = recurrent_run(file("run"));
    ASSERT_OK(train(device(), options));
    options.resume = true;
    options.generations = 5;
    for (const std::uint32_t other : {0U, 7U}) {
        options.network.recurrent = other;
        EXPECT_TRUE(expect_error(train(device(), options), ErrorKind::BadInput,
                                 "is of a run with network '4,6r,5,2', but '4,"));
    }
}

TEST(recurrent_network, has_a_text) {
    EXPECT_EQ(text_of(PolicyNetwork{.widths = {4, 2}, .recurrent = 8}), "4,8r,2");
    EXPECT_EQ(network_of("4,8r,16,2")->widths, (std::vector<std::uint32_t>{4, 16, 2}));
    EXPECT_EQ(network_of("4,8r,16,2")->recurrent, 8U);
    EXPECT_EQ(network_of("4,2")->recurrent, 0U);
    for (const char* const bad :
         {"8r,4,2", "4,8r,8r,2", "4,2,8r", "4,0r,2", "4,8R,2", "4,r,2", "4,8r2", "4,8r,2,", "r"})
        EXPECT_EQ(network_of(bad), std::nullopt) << bad;
}

}  // namespace
}  // namespace yolk::train
