// SPDX-License-Identifier: Apache-2.0
// Training on devices of two vendors together.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>

#include "temporary_folder.hpp"
#include "yolk/internal/runtime/probe.hpp"
#include "yolk/internal/testing/device_test.hpp"
#include "yolk/internal/testing/fault_injector.hpp"
#include "yolk/json.hpp"
#include "yolk/train.hpp"

namespace yolk::train {
namespace {

using ::testing::HasSubstr;
using ::yolk::testing::expect_error;

class pool : public ::testing::Test {
   protected:
    /// Before any fault injector, which can fail only devices that are made after it.
    void SetUp() override { static_cast<void>(both()); }
    static std::vector<Device> both() { return {testing::other_device().device, testing::first_device().device}; }
    [[nodiscard]] TrainOptions options(const std::string& folder) const {
        return {.evolution = {.population = 64, .seed = 3},
                .network = {.widths = {4, 8, 2}},
                .generations = 4,
                .max_steps = 30,
                .out = folder.empty() ? std::filesystem::path() : folder_.path() / folder,
                .evaluation_episodes = 20};
    }
    TemporaryFolder folder_;
};

std::vector<Json> generations_of(const std::filesystem::path& folder) {
    std::vector<Json> lines;
    std::istringstream text(text_of(folder / "metrics.jsonl"));
    for (std::string line; std::getline(text, line);) {
        const Result<Json> json = parse_json(line, "a line of metrics.jsonl");
        EXPECT_OK(json);
        if (json && json->contains("generation")) lines.push_back(*json);
    }
    return lines;
}

TEST_F(pool, two_vendors_end_in_the_bits_of_the_twin) {
    for (const bool antithetic : {true, false}) {
        TrainOptions shared = options(antithetic ? "both" : "own");
        shared.evolution.antithetic = antithetic;
        if (!antithetic) {
            shared.evolution.population = 33;
            shared.evolution.fitness = FitnessRule::CentredRank;
        }
        shared.evolution.episodes = 2;
        ASSERT_OK_AND_ASSIGN(const std::vector<std::string> expected, train_twin(shared));
        ASSERT_OK_AND_ASSIGN(const TrainOutcome outcome, train(both(), shared));
        EXPECT_EQ(outcome.state_hash, expected.back());
        ASSERT_EQ(outcome.devices.size(), 2U);
        EXPECT_EQ(outcome.devices[0].members + outcome.devices[1].members, 4 * shared.evolution.population);
        const std::vector<Json> lines = generations_of(shared.out);
        ASSERT_EQ(lines.size(), 4U);
        for (std::size_t g = 0; g < 4; ++g) {
            EXPECT_EQ(lines[g]["state_hash"], expected[g]);
            EXPECT_EQ(lines[g]["devices"].size(), 2U);
        }
    }
}

TEST_F(pool, goes_on_from_a_checkpoint_of_one_device_and_back) {
    ASSERT_OK_AND_ASSIGN(const TrainOutcome whole, train(both()[1], options("")));
    TrainOptions first = options("first");
    first.generations = 2;
    ASSERT_OK(train(both()[1], first));
    first.generations = 3;
    first.resume = true;
    ASSERT_OK(train(both(), first));
    first.generations = 4;
    ASSERT_OK_AND_ASSIGN(const TrainOutcome resumed, train(both()[0], first));
    EXPECT_EQ(resumed.state_hash, whole.state_hash);
}

TEST_F(pool, a_lost_device_is_told_and_training_ends_in_the_same_bits) {
    ASSERT_OK_AND_ASSIGN(const TrainOutcome expected, train(both()[0], options("")));
    testing::FaultInjector faults;
    ASSERT_OK_AND_ASSIGN(const Device mortal,
                         Device::create(testing::instance(), testing::device_index(testing::first_device_name())));
    ASSERT_OK(probe(mortal));
    const std::vector<Device> devices{mortal, both()[0]};
    ASSERT_OK_AND_ASSIGN(const TrainOutcome outcome,
                         train(devices, options("lost"), [&](const GenerationReport& report) {
                             if (report.generation == 0) faults.fail_nth_call(2, testing::FaultKind::DeviceLost);
                             return true;
                         }));
    EXPECT_EQ(outcome.state_hash, expected.state_hash);
    EXPECT_EQ(outcome.eval_mean_return, expected.eval_mean_return);
    EXPECT_TRUE(outcome.devices[0].dropped);
    EXPECT_FALSE(outcome.devices[1].dropped);
    EXPECT_THAT(outcome.losses, HasSubstr("was dropped: "));
}

TEST_F(pool, audits_of_right_devices_find_nothing) {
    TrainOptions audited = options("audited");
    audited.audit = 1.0;
    ASSERT_OK_AND_ASSIGN(const TrainOutcome outcome, train(both(), audited));
    ASSERT_OK_AND_ASSIGN(const TrainOutcome expected, train(both()[0], options("")));
    EXPECT_EQ(outcome.state_hash, expected.state_hash);
    EXPECT_TRUE(outcome.losses.empty());
    EXPECT_EQ(outcome.devices[0].audited + outcome.devices[1].audited, 4U * 64U);
}

/// The second device passes its self-check and computes wrongly from then on: its kernels add where they multiply.
TEST_F(pool, a_device_that_computes_wrongly_is_found_and_the_bits_stay) {
    ASSERT_OK_AND_ASSIGN(const TrainOutcome expected, train(both()[0], options("")));
    testing::FaultInjector faults;
    faults.only_on_device(2);
    std::vector<Device> devices;
    for (const std::string& name : {testing::other_device_name(), testing::first_device_name()}) {
        ASSERT_OK_AND_ASSIGN(const Device device, Device::create(testing::instance(), testing::device_index(name)));
        ASSERT_OK(probe(device));
        devices.push_back(device);
    }
    faults.spoil_multiplications(true);
    TrainOptions audited = options("wrong");
    audited.audit = 1.0;
    ASSERT_OK_AND_ASSIGN(const TrainOutcome outcome, train(devices, audited));
    EXPECT_EQ(outcome.state_hash, expected.state_hash);
    EXPECT_THAT(outcome.losses, HasSubstr(devices[1].info().name));
    EXPECT_THAT(outcome.losses, HasSubstr("It computes wrongly"));
    const std::vector<Json> lines = generations_of(audited.out);
    ASSERT_EQ(lines.size(), 4U);
    for (std::size_t g = 0; g < 4; ++g) EXPECT_EQ(lines[g]["generation"], g);
    EXPECT_EQ(lines.back()["state_hash"], expected.state_hash);
}

/// The lead evaluates right and updates wrongly: the injector spoils what is compiled after the members' kernels.
TEST_F(pool, a_wrong_update_is_found_and_the_bits_stay) {
    ASSERT_OK_AND_ASSIGN(const TrainOutcome expected, train(both()[0], options("")));
    testing::FaultInjector faults;
    faults.only_on_device(1);
    ASSERT_OK_AND_ASSIGN(const Device mortal,
                         Device::create(testing::instance(), testing::device_index(testing::first_device_name())));
    ASSERT_OK(probe(mortal));
    // With these the members' kernels are there before any are spoilt.
    ASSERT_OK(train(mortal, [&] {
        TrainOptions first = options("");
        first.generations = 1;
        first.evolution.optimizer = OptimizerRule::Sgd;
        return first;
    }()));
    faults.spoil_multiplications(true);
    TrainOptions audited = options("wrong");
    audited.audit = 1.0;
    audited.evolution.optimizer = OptimizerRule::Momentum;  // a kernel that was not made yet
    const std::vector<Device> devices{mortal, both()[0]};
    ASSERT_OK_AND_ASSIGN(const TrainOutcome outcome, train(devices, audited));
    TrainOptions momentum = options("");
    momentum.evolution.optimizer = OptimizerRule::Momentum;
    ASSERT_OK_AND_ASSIGN(const TrainOutcome right, train(both()[0], momentum));
    EXPECT_EQ(outcome.state_hash, right.state_hash);
    EXPECT_NE(outcome.state_hash, expected.state_hash);
    EXPECT_THAT(outcome.losses, HasSubstr("its update of generation 0 is not the exact twin's"));
}

TEST_F(pool, policies_are_evaluated_alike) {
    ASSERT_OK_AND_ASSIGN(const TrainOutcome outcome, train(both()[1], options("policy")));
    ASSERT_OK_AND_ASSIGN(const EvalOutcome alone, evaluate_policy(both()[1], outcome.policy, {.episodes = 33}));
    ASSERT_OK_AND_ASSIGN(const EvalOutcome together, evaluate_policy(both(), outcome.policy, {.episodes = 33}));
    EXPECT_EQ(together.mean_return, alone.mean_return);
    EXPECT_EQ(together.deviation, alone.deviation);
    EXPECT_EQ(together.best_return, alone.best_return);
    EXPECT_FALSE(together.depends_on_placement);
}

// Exactness is nothing that an evaluation demands of a device, alone or with others.
TEST_F(pool, policies_are_evaluated_on_devices_that_are_not_exact) {
    ASSERT_OK_AND_ASSIGN(const TrainOutcome outcome, train(both()[1], options("policy")));
    testing::FaultInjector faults;
    faults.spoil_multiplications(true);
    ASSERT_OK_AND_ASSIGN(const Device inexact,
                         Device::create(testing::instance(), testing::device_index(testing::first_device_name())));
    ASSERT_OK(probe(inexact));
    ASSERT_NE(inexact.findings().inexact_reason, "");
    ASSERT_OK(evaluate_policy(inexact, outcome.policy, {.episodes = 33}));
    const std::vector<Device> devices{both()[0], inexact};
    ::testing::internal::CaptureStderr();
    const Result<EvalOutcome> together = evaluate_policy(devices, outcome.policy, {.episodes = 33});
    const std::string said = ::testing::internal::GetCapturedStderr();
    ASSERT_OK(together);
    EXPECT_TRUE(together->depends_on_placement);
    EXPECT_EQ(said, "");
}

TEST_F(pool, bad_input_is_refused) {
    TrainOptions bad = options("");
    bad.audit = 0.5;
    EXPECT_TRUE(expect_error(train(both()[0], bad), ErrorKind::BadInput, "there is one device"));
    bad.evolution.determinism = Determinism::Fast;
    EXPECT_TRUE(expect_error(train(both(), bad), ErrorKind::BadInput, "in fast mode"));
    EXPECT_TRUE(expect_error(train(std::vector<Device>(), options("")), ErrorKind::BadInput, "at least one device"));
}

}  // namespace
}  // namespace yolk::train
