// SPDX-License-Identifier: Apache-2.0
// kill -9 at moments that nobody chose. resume_test.cpp kills after lines of output, which is between two generations
// more often than not; here it is anywhere: while drivers load, inside a kernel, between the two files of a checkpoint.
#include <gmock/gmock.h>

#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <random>
#include <set>

#include "command.hpp"

namespace yolk::cli {
namespace {

using std::chrono::milliseconds;

class kill : public InFolder {
   protected:
    [[nodiscard]] std::vector<std::string> command(const std::string& out) const {
        std::vector<std::string> arguments{"train"};
        arguments.insert(arguments.end(), task_.begin(), task_.end());
        arguments.insert(arguments.end(),
                         {"--json", "--out", (folder_ / out).string(), "--population", "64", "--generations",
                          std::to_string(generations_), "--checkpoint-every", checkpoint_every_});
        for (const char* const name : {"checkpoint.yolk", "log.yolk"}) {
            if (!std::filesystem::exists(folder_ / out / name)) continue;
            arguments.emplace_back("--resume");
            break;
        }
        return arguments;
    }
    void kill_and_go_on(int kills);
    std::vector<std::string> task_{"cartpole",    "--keep-going", "--max-steps",   "40",
                                   "--optimizer", "momentum",     "--sigma-decay", "0.99"};
    std::uint32_t generations_ = 100;
    std::string checkpoint_every_ = "1";
    std::string result_ = "policy.safetensors";
    /// Of each generation, by the metrics: its hash, or for data sets its mean; other text where a line is not JSON.
    [[nodiscard]] std::vector<std::string> states(const std::string& out) const {
        const Ran metrics{.code = 0, .out = read_text(folder_ / out / "metrics.jsonl"), .err = {}};
        std::vector<std::string> hashes;
        for (const Json& line : metrics.lines())
            hashes.push_back(!line.is_object()       ? "torn"
                             : line.contains("mean") ? line["mean"].dump()
                                                     : line.value("state_hash", "settings"));
        return hashes;
    }
    void expect_like_whole(const std::string& out, const Ran& ran, const Json& whole) const {
        EXPECT_EQ(ran.code, 0) << ran.err;
        const Json last = ran.last();
        for (const char* const name : {"state_hash", "eval_mean_return", "test"})
            EXPECT_EQ(last.value(name, Json()), whole.value(name, Json())) << name;
        EXPECT_EQ(states(out), states("whole"));
        for (const std::string& name : {result_, std::string("log.yolk")})
            EXPECT_EQ(read_text(folder_ / out / name), read_text(folder_ / "whole" / name)) << name;
        EXPECT_EQ(files_in(out), files_in("whole")) << "something is left over, or is missing";
    }
    [[nodiscard]] std::set<std::string> files_in(const std::string& out) const {
        std::set<std::string> names;
        for (const auto& entry : std::filesystem::directory_iterator(folder_ / out))
            names.insert(entry.path().filename().string());
        return names;
    }
};

/// A run goes on after each kill until it gets to its end, then the next begins. Moments reach a little past the time
/// of a whole run, so that some do.
void kill::kill_and_go_on(int kills) {
    const int seed = setting("YOLK_TEST_SEED", 1);
    const Ran undisturbed = run_command(command("whole"), only(kLavapipe));
    ASSERT_EQ(undisturbed.code, 0) << undisturbed.err;
    const auto before = std::chrono::steady_clock::now();  // of a second one: the first may have compiled its kernels
    ASSERT_EQ(run_command(command("timed"), only(kLavapipe)).code, 0);
    const auto whole_time = std::chrono::duration_cast<milliseconds>(std::chrono::steady_clock::now() - before);
    const Json whole = undisturbed.last();
    ASSERT_EQ(whole["generations"], generations_);

    std::mt19937 random(static_cast<std::uint32_t>(seed));
    std::uniform_int_distribution<int> moment(0, static_cast<int>(whole_time.count() * 5 / 4));
    std::string history = "seed " + std::to_string(seed) + ", killed after";
    int killed = 0;
    for (int run = 0; killed < kills && !HasFailure(); ++run) {
        const std::string out = "parts" + std::to_string(run);
        bool ended = false;
        while (killed < kills && !ended) {
            const milliseconds after(moment(random));
            history += " " + std::to_string(after.count());
            SCOPED_TRACE(history + " ms");
            const Ran ran = run_and_kill(command(out), only(kLavapipe), after);
            ended = ran.code != 128 + SIGKILL;
            if (ended) expect_like_whole(out, ran, whole);
            killed += ended ? 0 : 1;
        }
        history += ended ? " (ended)" : "";
        if (ended) continue;
        SCOPED_TRACE(history + " ms");
        expect_like_whole(out, run_command(command(out), only(kLavapipe)), whole);
    }
    std::printf("%s ms of %d; %d kills\n", history.c_str(), static_cast<int>(whole_time.count()), killed);
}

// $YOLK_TEST_KILLS kills; $YOLK_TEST_SEED draws other moments.
TEST_F(kill, at_random_moments_never_changes_the_result) { kill_and_go_on(setting("YOLK_TEST_KILLS", 3)); }

// Without checkpoints the log alone is what a killed run leaves.
TEST_F(kill, without_checkpoints_the_log_is_what_goes_on) {
    checkpoint_every_ = "0";
    kill_and_go_on(setting("YOLK_TEST_KILLS", 2));
}

TEST_F(kill, of_a_policy_with_a_memory_and_a_normalizer) {
    task_ = {"pendulum", "--keep-going", "--max-steps", "40", "--hidden", "8", "--normalize", "--recurrent", "4"};
    generations_ = 40;
    kill_and_go_on(setting("YOLK_TEST_KILLS", 2));
}

TEST_F(kill, of_a_run_over_a_data_set) {
    std::ofstream file(folder_ / "points.csv");
    file << "x,y,kind\n";
    for (int i = 0; i < 200; ++i)
        file << i % 17 << "," << i % 23 << "," << (i % 17 < i % 23 ? "above" : "below") << "\n";
    file.close();
    task_ = {(folder_ / "points.csv").string(), "--hidden", "8", "--batch", "32"};
    result_ = "model.safetensors";
    kill_and_go_on(setting("YOLK_TEST_KILLS", 2));
}

}  // namespace
}  // namespace yolk::cli
