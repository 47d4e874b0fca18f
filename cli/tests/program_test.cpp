// SPDX-License-Identifier: Apache-2.0
// yolk train --program COMMAND, and what comes after it.
#include <gmock/gmock.h>

#include "command.hpp"

namespace yolk::cli {
namespace {

using ::testing::HasSubstr;

class program_environment : public InFolder {
   protected:
    [[nodiscard]] Ran train(const std::string& out, const std::vector<std::string>& more) const {
        std::vector<std::string> arguments{
            "train", "--program", YOLK_LINE_ENVIRONMENT, "--out", out, "--population", "64", "--hidden",
            "8",     "--json",    "--keep-going"};
        arguments.insert(arguments.end(), more.begin(), more.end());
        return run_command(arguments, only(kLavapipe));
    }
};

TEST_F(program_environment, is_learned_resumed_replayed_and_evaluated) {
    const std::string whole = (folder_ / "whole").string(), parts = (folder_ / "parts").string();
    const Ran ran = train(whole, {"--generations", "6"});
    ASSERT_EQ(ran.code, 0) << ran.err;
    EXPECT_EQ(ran.last()["task"], "line");
    EXPECT_GT(ran.last()["eval_mean_return"].get<double>(), ran.lines().front()["mean_return"].get<double>());
    ASSERT_EQ(train(parts, {"--generations", "3", "--processes", "1"}).code, 0);
    const Ran resumed = train(parts, {"--generations", "6", "--lanes", "10", "--resume"});
    ASSERT_EQ(resumed.code, 0) << resumed.err;
    EXPECT_EQ(resumed.last()["resumed_from"], 3);
    EXPECT_EQ(resumed.last()["state_hash"], ran.last()["state_hash"]);
    const Ran replayed = run_command({"replay", whole, "--twin", "--json"});
    EXPECT_EQ(replayed.last()["state_hash"], ran.last()["state_hash"]) << replayed.err;

    const std::string policy = ran.last()["policy"];
    const Ran evaluated = run_command(
        {"eval", policy, "--program", YOLK_LINE_ENVIRONMENT, "--max-steps", "50", "--episodes", "20", "--json"},
        only(kLavapipe));
    ASSERT_EQ(evaluated.code, 0) << evaluated.err;
    EXPECT_EQ(evaluated.last()["task"], "line");
    EXPECT_EQ(evaluated.last()["episodes"], 20);
    const Ran without = run_command({"eval", policy}, only(kLavapipe));
    EXPECT_EQ(without.code, 2);
    EXPECT_THAT(without.err, HasSubstr("--program"));
}

TEST_F(program_environment, that_cannot_be_used_leaves_nothing) {
    const std::string out = (folder_ / "out").string();
    const auto refuses = [&](const std::string& command, const std::string& words) {
        const Ran ran = run_command({"train", "--program", command, "--out", out}, only(kLavapipe));
        EXPECT_NE(ran.code, 0);
        EXPECT_THAT(ran.err, HasSubstr(words));
        EXPECT_FALSE(std::filesystem::exists(out));
    };
    refuses("echo broken simulator", "broken simulator");
    refuses("no-such-program", "status 127");
    const Ran both = run_command({"train", "cartpole", "--program", "x"}, only(kLavapipe));
    EXPECT_EQ(both.code, 2);
    EXPECT_THAT(both.err, HasSubstr("needs one environment"));
}

}  // namespace
}  // namespace yolk::cli
