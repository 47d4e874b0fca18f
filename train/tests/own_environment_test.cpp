// SPDX-License-Identifier: Apache-2.0
// Runs on an environment from a file.
#include <gmock/gmock.h>

#include "checkpoint.hpp"
#include "temporary_folder.hpp"
#include "yolk/internal/testing/device_test.hpp"
#include "yolk/internal/train/policy_file.hpp"
#include "yolk/train.hpp"

namespace yolk::train {
namespace {

using ::yolk::testing::expect_error;

constexpr const char* kAcrobot = YOLK_SHADERS_FOLDER "/environments/acrobot.glsl";
constexpr const char* kCartpole = YOLK_SHADERS_FOLDER "/environments/cartpole.glsl";

TrainOptions own_environment_run(const std::filesystem::path& file, const std::filesystem::path& out = {}) {
    TrainOptions options{.evolution = {.population = 128, .seed = 3},
                         .generations = 2,
                         .stop_when_solved = false,
                         .max_steps = 60,
                         .out = out,
                         .evaluation_episodes = 20};
    const auto own = load_environment(file);
    EXPECT_OK(own);
    if (!own) return options;
    options.network.widths = {(*own)->info().observation_count, 8, (*own)->info().action_count};
    options.own_environment = *own;
    return options;
}

OnGeneration keep(std::vector<GenerationReport>& reports) {
    return [&reports](const GenerationReport& report) {
        reports.push_back(report);
        return true;
    };
}

class own_environment : public ::yolk::testing::DeviceTest {
   protected:
    /// A file of that name with a text in which `from` is `to`.
    std::filesystem::path changed(const char* source, const std::string& name, const std::string& from,
                                  const std::string& to) {
        std::string text = text_of(source);
        const std::size_t at = text.find(from);
        EXPECT_NE(at, std::string::npos) << from;
        if (at != std::string::npos) text.replace(at, from.size(), to);
        write_text(folder_.path() / name, text);
        return folder_.path() / name;
    }
    TemporaryFolder folder_;
};
YOLK_FOR_EACH_DEVICE(own_environment);

// A built-in environment from its file is that environment: the same states, and the exact twin's.
TEST_P(own_environment, a_built_in_one_from_its_file_gives_the_same_bits) {
    TrainOptions options = own_environment_run(kCartpole);
    ASSERT_OK_AND_ASSIGN(const TrainOutcome loaded, train(device(), options));
    options.own_environment = nullptr;
    ASSERT_OK_AND_ASSIGN(const TrainOutcome built_in, train(device(), options));
    ASSERT_OK_AND_ASSIGN(const std::vector<std::string> twin, train_twin(options));
    EXPECT_EQ(loaded.state_hash, built_in.state_hash);
    EXPECT_EQ(loaded.state_hash, twin.back());
    EXPECT_EQ(loaded.eval_mean_return, built_in.eval_mean_return);
}

// What the device under test computes is what the first device computes, whatever forms their kernels have.
TEST_P(own_environment, every_device_gives_the_same_bits) {
    TrainOptions options =
        own_environment_run(changed(kCartpole, "heavy.glsl", "0x411CCCCDu", "0x419CCCCDu"));  // twice the gravity
    std::vector<GenerationReport> first, here;
    ASSERT_OK(train(testing::shared_device(testing::devices().front()).device, options, keep(first)));
    options.rollout_config = RolloutConfig{.workgroup_size = 8, .unrolled = false};
    ASSERT_OK(train(device(), options, keep(here)));
    ASSERT_EQ(first.size(), 2U);
    ASSERT_EQ(here.size(), 2U);
    for (std::size_t g = 0; g < 2; ++g) {
        EXPECT_EQ(first[g].state_hash, here[g].state_hash);
        EXPECT_EQ(first[g].mean_return, here[g].mean_return);
        EXPECT_EQ(first[g].policy_return, here[g].policy_return);
    }
    EXPECT_NE(first[0].state_hash, first[1].state_hash);
}

TEST_P(own_environment, policies_are_bound_to_the_text_that_they_were_trained_on) {
    const TrainOptions options = own_environment_run(kCartpole, folder_.path() / "out");
    ASSERT_OK_AND_ASSIGN(const TrainOutcome outcome, train(device(), options));
    EvalOptions eval{.episodes = 10, .seed = 2, .own_environment = options.own_environment};
    ASSERT_OK_AND_ASSIGN(const EvalOutcome evaluated, evaluate_policy(device(), outcome.policy, eval));
    EXPECT_EQ(evaluated.task, "cartpole");
    EXPECT_EQ(evaluated.episodes, 10U);
    EXPECT_GE(evaluated.worst_return, 1.0);
    ASSERT_OK_AND_ASSIGN(const Policy policy, load_policy(outcome.policy, options.own_environment.get()));
    EXPECT_EQ(policy.environment_source, options.own_environment->source_hash());

    // Not even on the built-in one of its name.
    eval.own_environment = nullptr;
    EXPECT_TRUE(expect_error(evaluate_policy(device(), outcome.policy, eval), ErrorKind::BadInput,
                             "trained on 'cartpole', an environment from a file"));
    const auto other = load_environment(changed(kCartpole, "cartpole.glsl", "9.8 m/s^2", "9.81 m/s^2"));
    ASSERT_OK(other);
    eval.own_environment = *other;
    EXPECT_TRUE(expect_error(evaluate_policy(device(), outcome.policy, eval), ErrorKind::BadInput,
                             "Give the file as it was then"));
    // The name is part of it, too.
    const auto renamed = load_environment(changed(kCartpole, "balance.glsl", "pole", "pole"));
    ASSERT_OK(renamed);
    EXPECT_EQ((*renamed)->source_hash(), options.own_environment->source_hash());
    eval.own_environment = *renamed;
    EXPECT_TRUE(expect_error(evaluate_policy(device(), outcome.policy, eval), ErrorKind::BadInput, "but 'balance'"));
}

TEST_P(own_environment, runs_resume_on_the_same_text_only) {
    TrainOptions options = own_environment_run(kCartpole, folder_.path() / "out");
    std::vector<GenerationReport> whole, resumed;
    ASSERT_OK(train(device(), own_environment_run(kCartpole), keep(whole)));
    ASSERT_OK(train(device(), options, [](const GenerationReport&) { return false; }));
    options.resume = true;

    TrainOptions other = options;
    const auto commented = load_environment(changed(kCartpole, "cartpole.glsl", "9.8 m/s^2", "9.81 m/s^2"));
    ASSERT_OK(commented);
    other.own_environment = *commented;
    EXPECT_TRUE(expect_error(train(device(), other), ErrorKind::BadInput,
                             "environment_source '" + options.own_environment->source_hash() + "', but '" +
                                 (*commented)->source_hash() + "' was given"));
    other.own_environment = nullptr;  // the built-in one has the name and the text, and is another all the same
    EXPECT_TRUE(expect_error(train(device(), other), ErrorKind::BadInput, "but 'built-in' was given"));
    const auto renamed = load_environment(changed(kCartpole, "balance.glsl", "pole", "pole"));
    ASSERT_OK(renamed);
    other.own_environment = *renamed;
    EXPECT_TRUE(expect_error(train(device(), other), ErrorKind::BadInput, "task 'cartpole', but 'balance' was given"));

    ASSERT_OK(train(device(), options, keep(resumed)));
    ASSERT_EQ(resumed.size(), 1U);
    EXPECT_EQ(resumed[0].state_hash, whole[1].state_hash);
}

TEST_P(own_environment, policies_of_built_in_ones_take_no_file) {
    TrainOptions options = own_environment_run(kCartpole, folder_.path() / "out");
    options.own_environment = nullptr;
    ASSERT_OK_AND_ASSIGN(const TrainOutcome outcome, train(device(), options));
    EvalOptions eval{.episodes = 10, .own_environment = own_environment_run(kCartpole).own_environment};
    EXPECT_TRUE(expect_error(evaluate_policy(device(), outcome.policy, eval), ErrorKind::BadInput,
                             "trained on the built-in environment 'cartpole'"));
}

TEST_P(own_environment, inexact_arithmetic_trains_in_fast_mode_only) {
    const std::filesystem::path file = changed(kCartpole, "soft.glsl", "exact_sin(state.angle)", "sin(state.angle)");
    TrainOptions options = own_environment_run(file);
    EXPECT_TRUE(expect_error(train(device(), options), ErrorKind::Unsupported, "soft.glsl:"));
    EXPECT_TRUE(expect_error(train(device(), options), ErrorKind::Unsupported, "exact mode"));
    options.evolution.determinism = Determinism::Fast;
    EXPECT_OK(train(device(), options));
}

TEST_P(own_environment, returns_of_inexact_ones_depend_on_placement) {
    const std::vector<Device> both{device(), testing::device_beside(device_name()).device};
    for (const bool inexact : {false, true}) {
        const std::filesystem::path file =
            inexact ? changed(kCartpole, "soft.glsl", "exact_sin(state.angle)", "sin(state.angle)") : kCartpole;
        TrainOptions options = own_environment_run(file, folder_.path() / (inexact ? "soft" : "exact"));
        options.evolution.determinism = inexact ? Determinism::Fast : Determinism::Exact;
        ASSERT_OK_AND_ASSIGN(const TrainOutcome outcome, train(device(), options));
        const EvalOptions eval{.episodes = 10, .own_environment = options.own_environment};
        ASSERT_OK_AND_ASSIGN(const EvalOutcome evaluated, evaluate_policy(both, outcome.policy, eval));
        EXPECT_EQ(evaluated.depends_on_placement, inexact);
    }
}

// GLSL leaves the remainder of a negative int undefined, and devices differ; a division may end the process.
TEST_P(own_environment, undefined_operations_do_not_train) {
    const std::filesystem::path remainder =
        changed(kCartpole, "rest.glsl", "exact_sin(state.angle)", "float((int(action) - 7) % 2)");
    const auto refused = load_environment(remainder);
    EXPECT_TRUE(expect_error(refused, ErrorKind::BadInput, "Use exact_divide or exact_remainder"));
    const std::filesystem::path shift =
        changed(kCartpole, "shift.glsl", "exact_sin(state.angle)", "float(1u << exact_bits(state.angle))");
    TrainOptions options = own_environment_run(shift);
    EXPECT_TRUE(expect_error(train(device(), options), ErrorKind::Unsupported, "exact_shift_left"));
    options.evolution.determinism = Determinism::Fast;
    EXPECT_OK(train(device(), options));
    EXPECT_OK(train(device(), own_environment_run(changed(kCartpole, "whole.glsl", "exact_sin(state.angle)",
                                                          "float(exact_remainder(int(action) - 7, 2))"))));
}

TEST_P(own_environment, the_twin_says_that_it_has_none) {
    EXPECT_TRUE(expect_error(train_twin(own_environment_run(kAcrobot)), ErrorKind::Unsupported,
                             "exact twin cannot run 'acrobot'"));
}

TEST_P(own_environment, networks_and_steps_are_held_against_it) {
    TrainOptions options = own_environment_run(kAcrobot);
    options.network.widths = {4, 8, 2};
    EXPECT_TRUE(expect_error(train(device(), options), ErrorKind::BadInput,
                             "does not fit the task acrobot: it must begin with 6 (observations) and end with 3"));
    options = own_environment_run(kAcrobot);
    options.max_steps = 501;
    EXPECT_TRUE(expect_error(train(device(), options), ErrorKind::BadInput, "acrobot has at most 500"));
}

}  // namespace
}  // namespace yolk::train
