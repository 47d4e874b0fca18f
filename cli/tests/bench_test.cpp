// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>

#include "command.hpp"

namespace yolk::cli {
namespace {

using ::testing::HasSubstr;
using ::testing::StartsWith;

// Both CPU drivers have timestamps, so both rates are there. Wall time begins before and ends after the device's, so
// its rate is the lower one; 1 % is left for two clocks that need not run at quite the same speed.
TEST(bench, rollout_as_json) {
    for (const char* driver : {kLavapipe, kSwiftShader}) {
        const Ran ran =
            run_command({"bench", "rollout", "--population", "6", "--episodes", "2", "--json"}, only(driver));
        ASSERT_EQ(ran.code, 0) << ran.err;
        ASSERT_EQ(ran.lines().size(), 1U) << ran.out;
        const Json json = ran.last();
        std::vector<std::string> keys;
        for (const auto& [key, value] : json.items()) keys.push_back(key);
        EXPECT_THAT(keys, ::testing::ElementsAre("bench", "device", "driver", "environment", "determinism",
                                                 "population", "episodes", "steps", "repeats", "evaluations_per_second",
                                                 "device_evaluations_per_second", "peak_memory_bytes"));
        EXPECT_EQ(json["bench"], "rollout");
        EXPECT_EQ(json["environment"], "cartpole");
        EXPECT_EQ(json["population"], 6);
        EXPECT_EQ(json["episodes"], 2);
        EXPECT_EQ(json["steps"], 500);
        EXPECT_GE(json["repeats"], 3);
        EXPECT_GT(json["evaluations_per_second"], 0.0);
        EXPECT_GE(json["device_evaluations_per_second"], 0.99 * json["evaluations_per_second"].get<double>());
        EXPECT_GT(json["peak_memory_bytes"], 1 << 20);
    }
}

TEST(bench, rollout_for_people) {
    const Ran ran = run_command({"bench", "rollout", "--population", "4"}, only(kLavapipe));
    ASSERT_EQ(ran.code, 0) << ran.err;
    for (const char* part : {"rollout of cartpole on llvmpipe", "4 members, 1 episode(s) of 500 steps", "evaluations/s",
                             "by the device's clock", "peak memory"})
        EXPECT_THAT(ran.out, HasSubstr(part));
}

TEST(bench, rollout_of_fast_determinism) {
    const Ran ran =
        run_command({"bench", "rollout", "--population", "4", "--determinism", "fast", "--json"}, only(kLavapipe));
    ASSERT_EQ(ran.code, 0) << ran.err;
    EXPECT_EQ(ran.last()["determinism"], "fast");
    EXPECT_EQ(run_command({"bench", "rollout", "--determinism", "none"}, only(kLavapipe)).code, 2);
}

TEST(bench, kernel_beside_the_textbooks_at_its_shape) {
    const Ran ran = run_command(
        {"bench", "kernel", "--kernel", "matmul", "--shape", "m=40 n=24 k=56", "--configurations", "1", "--json"},
        only(kLavapipe));
    ASSERT_EQ(ran.code, 0) << ran.err;
    const Json json = ran.last();
    EXPECT_THAT(json["problem"].get<std::string>(), HasSubstr("40"));
    EXPECT_TRUE(json["wrong"].empty());
    EXPECT_EQ(json["dispatches"], 1);
    EXPECT_TRUE(json["oracle_elements"].is_null()) << "all of them were";
    EXPECT_EQ(json["unit"], "fp32 lanes");
    EXPECT_GT(json["of_limit"], 0.0);
    EXPECT_GT(json["textbook_gflops"], 0.0);
    EXPECT_NEAR(json["over_textbook"].get<double>() * json["textbook_gflops"].get<double>(),
                json["gflops"].get<double>(), 1e-6 * json["gflops"].get<double>());
}

// 2^32 operations and a few: the oracle computes a part of them.
TEST(bench, kernel_of_a_large_product_is_proven_by_a_sample) {
    std::vector<std::string> command{"bench", "kernel", "--shape", "m=1300 n=1300 k=1280", "--configurations", "1"};
    // What the driver is quick at.
    for (const char* knob :
         {"operand_path=3", "tile_m=16", "tile_n=8", "block_k=16", "vector_width=4", "workgroup_size=8", "split_k=1"})
        command.insert(command.end(), {"--where", knob});
    const Ran ran = run_command(command, only(kLavapipe));
    ASSERT_EQ(ran.code, 0) << ran.err;
    EXPECT_THAT(ran.out, HasSubstr("4096 of 1690000 elements were computed in double"));
    EXPECT_THAT(ran.out, HasSubstr("of the multiply-add limit of fp32 lanes"));
}

TEST(bench, steps_as_json) {
    for (const char* driver : {kLavapipe, kSwiftShader}) {
        const Ran ran = run_command({"bench", "step", "--count", "3", "--size", "7", "--json"}, only(driver));
        ASSERT_EQ(ran.code, 0) << ran.err;
        const Json json = ran.last();
        EXPECT_EQ(json["bench"], "step");
        EXPECT_EQ(json["inverted"], 3);
        EXPECT_LT(json["worst_residual"], 1e-5);
        ASSERT_EQ(json["steps"].size(), 2U);
        EXPECT_EQ(json["steps"][0]["step"], "kfac_step");
        EXPECT_EQ(json["steps"][1]["step"], "natural_gradient_step");
        for (const Json& step : json["steps"]) {
            EXPECT_GE(step["dispatches"], 1);
            EXPECT_EQ(step["submissions"], 1);
            for (const char* seconds : {"returning_seconds", "with_scratch_seconds", "on_host_seconds"})
                EXPECT_GT(step[seconds], 0.0) << seconds;
        }
    }
}

TEST(bench, bad_input_is_told) {
    const auto refuses = [](std::vector<std::string> arguments, const std::string& part) {
        arguments.insert(arguments.begin(), "bench");
        const Ran ran = run_command(arguments, only(kLavapipe));
        EXPECT_EQ(ran.code, 2) << ran.err;
        EXPECT_EQ(ran.out, "");
        EXPECT_THAT(ran.err, StartsWith("yolk: error: "));
        EXPECT_THAT(ran.err, HasSubstr(part));
    };
    refuses({"--only", "nothing of this name"}, "No row has 'nothing of this name' in its group or name");
    refuses({"--quick", "rollout"}, "--quick has no effect here");
    refuses({"fly"}, "fly");
    refuses({"rollout", "--population", "7"}, "--population is 7; it is an even number from 2 to 1048576.");
    refuses({"rollout", "--population", "0"}, "--population is 0");
    refuses({"rollout", "--population", "1048578"}, "--population is 1048578");
    refuses({"rollout", "--population", "-2"}, "'-2' is not a whole number");
    refuses({"rollout", "--episodes", "0"}, "--episodes is 0");
    refuses({"rollout", "--device", "voodoo"}, "llvmpipe");
    refuses({"step", "--count", "0"}, "--count is 0; it is from 1 to 65536.");
    refuses({"step", "--size", "1025"}, "--size is 1025; it is from 1 to 1024.");
    // 2^20 members of 64 episodes: 256 MiB of returns in one binding.
    refuses({"rollout", "--population", "1048576", "--episodes", "64"}, "the returns view of [rollout]");
}

}  // namespace
}  // namespace yolk::cli
