// SPDX-License-Identifier: Apache-2.0
// Environments that use every operation docs/environments.md allows, drawn at random: each driver's returns against
// those of the same program in C++, by hash. $YOLK_TEST_ENVIRONMENTS draws more, $YOLK_TEST_SEED others.
#include <gmock/gmock.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "random_environment.hpp"
#include "yolk/environment.hpp"
#include "yolk/internal/core/hash.hpp"
#include "yolk/internal/core/noise.hpp"
#include "yolk/internal/testing/device_test.hpp"
#include "yolk/internal/testing/mutation.hpp"
#include "yolk/rollout.hpp"

namespace yolk {
namespace {

constexpr std::uint32_t kEpisodes = 48;
constexpr NoiseContext kWhen{.seed = 11, .generation = 3, .time = 1, .sigma = 0.0F};

class random_environments : public testing::DeviceTest {
   protected:
    void SetUp() override {
        folder_ = std::filesystem::temp_directory_path() / ("yolk-random-environment-" + std::to_string(::getpid()));
        std::filesystem::create_directories(folder_);
    }
    void TearDown() override { std::filesystem::remove_all(folder_); }

    Result<std::shared_ptr<const LoadedEnvironment>> load(const std::string& text) {
        std::ofstream(folder_ / "random.glsl", std::ios::binary) << text;
        return load_environment(folder_ / "random.glsl");
    }
    Result<std::vector<float>> returns_of(const std::shared_ptr<const LoadedEnvironment>& environment);
    /// The programs of `count` seeds from `first` on.
    void compare(std::uint32_t first, int count);

    std::filesystem::path folder_;
};
YOLK_FOR_EACH_DEVICE(random_environments);

/// Of a policy whose outputs are the observations.
Result<std::vector<float>> random_environments::returns_of(
    const std::shared_ptr<const LoadedEnvironment>& environment) {
    const PolicyNetwork network{.widths = {3, 3}};
    YOLK_TRY(const ParameterTable table, ParameterTable::create(network.parameters()));
    YOLK_TRY(const RolloutPlan plan, plan_rollout(device(), {.own_environment = environment,
                                                             .network = network,
                                                             .parameters = table,
                                                             .episodes = kEpisodes,
                                                             .mean_only = true}));
    const auto buffer = [&](std::uint64_t bytes) {
        return device().create_buffer({.size_bytes = bytes, .label = "random environment"});
    };
    const std::vector<float> parameters{1, 0, 0, 0, 1, 0, 0, 0, 1, 0, 0, 0};
    YOLK_TRY(const Buffer values, buffer(table.size_bytes()));
    YOLK_TRY(const Buffer returns, buffer(std::uint64_t{4} * kEpisodes));
    YOLK_TRY(const Buffer evaluations, buffer(std::uint64_t{4} * kEvaluationCounters));
    YOLK_TRY(const Buffer scratch, buffer(plan.scratch().size_bytes));
    YOLK_TRY_VOID(dispatcher().upload(values, std::as_bytes(std::span(parameters))));
    YOLK_TRY(const BoundRollout bound,
             plan.bind({.parameters = values, .returns = returns, .evaluations = evaluations}, scratch));
    YOLK_TRY(Recorder recorder, Recorder::create(device(), {.label = "random environment"}));
    recorder.begin();
    recorder.barrier(Barrier::TransferToCompute);
    bound.record(recorder, kWhen);
    recorder.barrier(Barrier::ComputeToTransfer);
    recorder.barrier(Barrier::ToHost);
    YOLK_TRY_VOID(dispatcher().run(recorder));
    std::vector<float> got(kEpisodes);
    YOLK_TRY_VOID(dispatcher().download(returns, std::as_writable_bytes(std::span(got))));
    return got;
}

std::string hash_of(const std::vector<float>& returns) { return Hasher().add(std::as_bytes(std::span(returns))).hex(); }

std::uint32_t first_seed() {
    const char* const text = std::getenv("YOLK_TEST_SEED");
    return text == nullptr ? 1U : static_cast<std::uint32_t>(std::strtoul(text, nullptr, 10));
}

void random_environments::compare(std::uint32_t first, int count) {
    int refused = 0;  // by the limits on a driver's compiler
    for (int n = 0; n < count; ++n) {
        const std::uint32_t seed = first + static_cast<std::uint32_t>(n);
        const testing::RandomEnvironment drawn(seed);
        SCOPED_TRACE(std::to_string(seed) + "\n" + drawn.text());
        ASSERT_OK_AND_ASSIGN(const auto environment, load(drawn.text()));
        EXPECT_EQ(environment->inexact_reason(), "");
        std::vector<float> expected;
        for (std::uint32_t episode = 0; episode < kEpisodes; ++episode) {
            const PhiloxCounter words = philox_block(
                {.seed = kWhen.seed, .domain = Domain::Environment, .pair = episode, .time = kWhen.generation}, 0);
            expected.push_back(drawn.episode_return({words[0], words[1], words[2], words[3]}));
        }
        const Result<std::vector<float>> got = returns_of(environment);
        if (!got && testing::expect_error(got, ErrorKind::Driver, "while the driver compiled it, its process")) {
            ++refused;
            continue;
        }
        ASSERT_OK(got);
        EXPECT_EQ(hash_of(*got), hash_of(expected));
        EXPECT_THAT(expected, ::testing::Not(::testing::Each(expected[0])))
            << "the program does not depend on its start";
    }
    EXPECT_LE(refused, count / 20) << "of " << count;
}

// Each test has two by default: SwiftShader compiles every program twice, in a worker first.
TEST_P(random_environments, give_the_bits_of_the_same_program_in_cpp) {
    compare(first_seed(), testing::count_from("YOLK_TEST_ENVIRONMENTS", 2));
}

TEST_P(random_environments, of_the_next_two_seeds_do_as_well) { compare(first_seed() + 2, 2); }

}  // namespace
}  // namespace yolk
