// SPDX-License-Identifier: Apache-2.0
// Systems without tensor work, where no Vulkan device can be opened.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <cstdlib>
#include <filesystem>
#include <optional>
#include <string>

#include "fixtures.hpp"
#include "learning_systems.hpp"
#include "yolk/ablate.hpp"
#include "yolk/internal/testing/device_test.hpp"

namespace yolk::hyper::without_device {
namespace {

using ::testing::HasSubstr;

/// While it lives, no driver is found.
class NoDrivers {
   public:
    NoDrivers() {
        for (Kept& kept : kept_) {
            if (const char* value = std::getenv(kept.name)) kept.before = value;
            setenv(kept.name, "/nonexistent/driver.json", 1);
        }
    }
    ~NoDrivers() {
        for (const Kept& kept : kept_) {
            if (kept.before) {
                setenv(kept.name, kept.before->c_str(), 1);
            } else {
                unsetenv(kept.name);
            }
        }
    }
    NoDrivers(const NoDrivers&) = delete;
    NoDrivers& operator=(const NoDrivers&) = delete;

   private:
    struct Kept {
        const char* name;
        std::optional<std::string> before{};
    };
    std::array<Kept, 2> kept_{{{"VK_ICD_FILENAMES"}, {"VK_DRIVER_FILES"}}};
};

OptimizeOptions exact_options() {
    OptimizeOptions options = temperature_options(3);
    options.evolution.determinism = Determinism::Exact;
    return options;
}

class without_device : public ::yolk::testing::DeviceTest {};
YOLK_FOR_EACH_DEVICE(without_device);

TEST_P(without_device, the_search_finds_what_it_finds_on_one) {
    for (const FitnessRule rule : {FitnessRule::PairDifference, FitnessRule::PairSign}) {
        OptimizeOptions options = exact_options();
        options.evolution.fitness = rule;
        Task on = temperature_task();
        on.system.use(dispatcher());
        ASSERT_OK_AND_ASSIGN(const OptimizeOutcome there, on.system.optimize(on.examples, on.metric, options));
        const NoDrivers none;
        Task off = temperature_task();
        ASSERT_OK_AND_ASSIGN(const OptimizeOutcome here, off.system.optimize(off.examples, off.metric, options));
        EXPECT_GT(here.best_reward, here.start_reward);
        EXPECT_EQ(here.state_hash, there.state_hash);
        EXPECT_EQ(here.best_reward, there.best_reward);
        EXPECT_EQ(here.cost.metric_calls, there.cost.metric_calls);
        EXPECT_EQ(off.system.parameters().find("warm")->values, on.system.parameters().find("warm")->values);
        EXPECT_THAT(here.notes, ::testing::ElementsAre(HasSubstr("on the host")));
    }
}

TEST(without_any_device, systems_are_evaluated_and_ablated) {
    const NoDrivers none;
    Task task = temperature_task();
    ASSERT_OK_AND_ASSIGN(const Evaluation alone, task.system.evaluate(task.examples, task.metric));
    EXPECT_EQ(alone.reward, -0.5);
    const std::vector<Candidate> candidates{{}, {.values = {{"warm", Tensor::vector({0.5F, 1.0F, 0.0F, 0.0F, 1.0F})}}}};
    ASSERT_OK_AND_ASSIGN(const PopulationEvaluation both,
                         task.system.evaluate_population(candidates, task.examples, task.metric));
    EXPECT_EQ(both.rewards, (std::vector<double>{-0.5, 0.0}));
    for (const Ablation how : {Ablation::Zero, Ablation::Reset, Ablation::Freeze, Ablation::Perturb}) {
        AblateOptions options{.how = how};
        options.optimize = exact_options();
        EXPECT_OK(ablate(task.system, task.examples, task.metric, options)) << to_string(how);
    }
}

TEST(without_any_device, a_search_goes_on_from_its_checkpoint) {
    const NoDrivers none;
    const auto path = std::filesystem::path(::testing::TempDir()) / "without_device.ckpt";
    std::filesystem::remove(path);
    Task whole = temperature_task(), parts = temperature_task();
    ASSERT_OK_AND_ASSIGN(const OptimizeOutcome at_once,
                         whole.system.optimize(whole.examples, whole.metric, exact_options()));
    OptimizeOptions options = exact_options();
    options.checkpoint = path;
    options.generations = 7;
    ASSERT_OK(parts.system.optimize(parts.examples, parts.metric, options));
    options.generations = exact_options().generations;
    options.resume = true;
    Task again = temperature_task();
    ASSERT_OK_AND_ASSIGN(const OptimizeOutcome resumed, again.system.optimize(again.examples, again.metric, options));
    EXPECT_EQ(resumed.resumed_from, 7U);
    EXPECT_EQ(resumed.state_hash, at_once.state_hash);
}

TEST(without_any_device, what_needs_one_says_so) {
    const NoDrivers none;
    Task tensors = rotation_task();
    EXPECT_THAT(refusal(tensors.system.optimize(tensors.examples, tensors.metric, rotation_options(1))),
                HasSubstr("mesa-vulkan-drivers"));
    Task task = temperature_task();
    OptimizeOptions options = exact_options();
    options.gradient = GradientOptions{};
    EXPECT_THAT(refusal(task.system.optimize(task.examples, task.metric, options)), HasSubstr("mesa-vulkan-drivers"));
    const std::vector<Candidate> candidates{{}};
    EXPECT_THAT(refusal(tensors.system.evaluate_population(candidates, tensors.examples, tensors.metric)),
                HasSubstr("mesa-vulkan-drivers"));
    EXPECT_OK(tensors.system.evaluate(tensors.examples, tensors.metric)) << "one after another, on the host";
}

}  // namespace
}  // namespace yolk::hyper::without_device
