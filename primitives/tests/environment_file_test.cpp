// SPDX-License-Identifier: Apache-2.0
#include "yolk/environment.hpp"

#include <gmock/gmock.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <string>

#include "yolk/internal/core/hash.hpp"
#include "yolk/internal/testing/device_test.hpp"
#include "yolk/twin.hpp"

namespace yolk {
namespace {

using testing::expect_error;

constexpr const char* kCartpole = YOLK_ENVIRONMENTS_FOLDER "/cartpole.glsl";
constexpr NoiseContext kEpisodeContext{.seed = 3, .generation = 2, .time = 1, .sigma = 0.2F};

class environment_file : public testing::DeviceTest {
   protected:
    void SetUp() override {
        folder_ = std::filesystem::temp_directory_path() / ("yolk-environment-test-" + std::to_string(::getpid()));
        std::filesystem::create_directories(folder_);
    }
    void TearDown() override { std::filesystem::remove_all(folder_); }
    std::filesystem::path write(const std::string& name, const std::string& text) {
        std::ofstream(folder_ / name, std::ios::binary) << text;
        return folder_ / name;
    }
    std::filesystem::path folder_;
};
YOLK_FOR_EACH_DEVICE(environment_file);

std::string cartpole_text() {
    std::ifstream file(kCartpole, std::ios::binary);
    return {std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
}

TEST_P(environment_file, says_what_the_registry_says_of_the_same_text) {
    ASSERT_OK_AND_ASSIGN(const auto own, load_environment(kCartpole));
    ASSERT_OK_AND_ASSIGN(const EnvironmentInfo built_in, find_environment("cartpole"));
    EXPECT_EQ(own->info().name, built_in.name);
    EXPECT_EQ(own->info().observation_count, built_in.observation_count);
    EXPECT_EQ(own->info().action_count, built_in.action_count);
    EXPECT_EQ(own->info().state_words, built_in.state_words);
    EXPECT_EQ(own->info().max_steps, built_in.max_steps);
    EXPECT_EQ(own->info().solved_return, built_in.solved_return);
    EXPECT_EQ(own->info().best_return, built_in.best_return);
    EXPECT_EQ(own->inexact_reason(), "");
    const std::string text = cartpole_text();
    EXPECT_EQ(own->source_hash(), Hasher().add(std::as_bytes(std::span(text))).hex());
}

// A plan needs nothing but itself: the description, its environment and the file are gone when it is bound and run.
TEST_P(environment_file, plans_keep_what_they_need) {
    PolicyNetwork network{.widths = {4, 3, 2}};
    ASSERT_OK_AND_ASSIGN(const ParameterTable table, ParameterTable::create(network.parameters()));
    RolloutDesc desc{.network = network, .parameters = table, .members = 6, .max_steps = 40};
    std::vector<float> parameters(table.element_count());
    for (std::size_t i = 0; i < parameters.size(); ++i) parameters[i] = 0.1F * static_cast<float>(i % 7) - 0.3F;
    const auto twin = reference::twin_result<float>(desc, {parameters}, kEpisodeContext);

    const std::filesystem::path file = write("gone.glsl", cartpole_text());
    ASSERT_OK_AND_ASSIGN(desc.own_environment, load_environment(file));
    ASSERT_OK_AND_ASSIGN(const RolloutPlan plan, plan_rollout(device(), desc));
    desc = {};
    std::filesystem::remove(file);
    const auto buffer = [&](std::uint64_t bytes) {
        return device().create_buffer({.size_bytes = bytes, .label = "environment file"});
    };
    ASSERT_OK_AND_ASSIGN(const Buffer values, buffer(table.size_bytes()));
    ASSERT_OK_AND_ASSIGN(const Buffer returns, buffer(4 * 6));
    ASSERT_OK_AND_ASSIGN(const Buffer evaluations, buffer(std::uint64_t{4} * kEvaluationCounters));
    ASSERT_OK_AND_ASSIGN(const Buffer scratch, buffer(plan.scratch().size_bytes));
    ASSERT_OK(dispatcher().upload(values, std::as_bytes(std::span(parameters))));
    ASSERT_OK_AND_ASSIGN(const BoundRollout bound,
                         plan.bind({.parameters = values, .returns = returns, .evaluations = evaluations}, scratch));
    ASSERT_OK_AND_ASSIGN(Recorder recorder, Recorder::create(device(), {.label = "environment file"}));
    recorder.begin();
    recorder.barrier(Barrier::TransferToCompute);
    bound.record(recorder, kEpisodeContext);
    recorder.barrier(Barrier::ComputeToTransfer);
    recorder.barrier(Barrier::ToHost);
    ASSERT_OK(dispatcher().run(recorder));
    std::vector<float> got(6);
    ASSERT_OK(dispatcher().download(returns, std::as_writable_bytes(std::span(got))));
    EXPECT_EQ(got, twin);
}

TEST_P(environment_file, its_name_hides_no_built_in_one_and_its_numbers_count) {
    std::string text = cartpole_text();
    const std::size_t at = text.find("kMaxSteps = 500u");
    ASSERT_NE(at, std::string::npos);
    text.replace(at, 16, "kMaxSteps = 700u");
    ASSERT_OK_AND_ASSIGN(const auto longer, load_environment(write("cartpole.glsl", text)));
    PolicyNetwork network{.widths = {4, 2}};
    ASSERT_OK_AND_ASSIGN(const ParameterTable table, ParameterTable::create(network.parameters()));
    RolloutDesc desc{.network = network, .parameters = table, .members = 2, .max_steps = 600};
    EXPECT_TRUE(expect_error(plan_rollout(device(), desc), ErrorKind::BadInput, "max_steps of [rollout]"));
    desc.own_environment = longer;
    EXPECT_OK(plan_rollout(device(), desc));
}

TEST_P(environment_file, files_that_cannot_be_one_are_refused) {
    EXPECT_TRUE(expect_error(load_environment(folder_ / "absent.glsl"), ErrorKind::Io, "absent.glsl"));
    EXPECT_TRUE(expect_error(load_environment(folder_), ErrorKind::BadInput, "is a folder; a regular file is needed"));
    EXPECT_TRUE(expect_error(load_environment(""), ErrorKind::BadInput, "has the name ''"));
    EXPECT_TRUE(expect_error(load_environment(write("a b.glsl", cartpole_text())), ErrorKind::BadInput, "'a b'"));
    EXPECT_TRUE(expect_error(load_environment(write(std::string(65, 'a') + ".glsl", "")), ErrorKind::BadInput, "64"));
    EXPECT_TRUE(expect_error(load_environment(write("empty.glsl", "")), ErrorKind::BadInput, "is empty"));
    const std::string huge(std::size_t{1} << 20U, '\n');
    EXPECT_TRUE(expect_error(load_environment(write("huge.glsl", huge + "x")), ErrorKind::BadInput, "1048576"));
}

}  // namespace
}  // namespace yolk
