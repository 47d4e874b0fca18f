// SPDX-License-Identifier: Apache-2.0
// Files that other processes write, and what is not a file at all.
#include <gmock/gmock.h>
#include <sys/stat.h>

#include <algorithm>

#include "command.hpp"

namespace yolk::cli {
namespace {

using ::testing::HasSubstr;

class files : public InFolder {
   protected:
    [[nodiscard]] std::string quoted(const std::string& name) const { return "'" + (folder_ / name).string() + "'"; }
    /// The end of a command whose output goes to "first": on it goes as $first, until it has written something.
    [[nodiscard]] std::string until_it_runs() const {
        return quoted("first") + " & first=$!; while [ ! -s " + quoted("first") +
               " ] && kill -0 $first; do sleep 0.02; done; ";
    }
};

TEST_F(files, second_run_in_a_folder_is_refused) {
    const std::string train =
        "\"$YOLK\" train cartpole --json --keep-going --population 64 --max-steps 40 --out " + quoted("out") + " ";
    const Ran ran = run_shell(train + "--generations 1000000 > " + until_it_runs() + train +
                                  "--generations 1; second=$?; " + train +
                                  "--generations 1000000 --resume; third=$?; kill -TERM $first; wait $first; echo $? "
                                  "$second $third",
                              only(kLavapipe));
    EXPECT_EQ(ran.out, "0 1 1\n") << ran.err;
    EXPECT_THAT(ran.err, HasSubstr("The output folder " + quoted("out") + " is being written by process "));
    const Ran lines{.code = 0, .out = read_text(folder_ / "first"), .err = {}};
    EXPECT_EQ(lines.last()["interrupted"], true);
    const std::string metrics = read_text(folder_ / "out" / "metrics.jsonl");
    EXPECT_EQ(static_cast<std::size_t>(std::count(metrics.begin(), metrics.end(), '\n')), lines.lines().size())
        << "the first run's metrics are not whole";
    EXPECT_EQ(std::distance(std::filesystem::directory_iterator(folder_ / "out"), {}), 4);
}

TEST_F(files, second_optimization_of_a_file_or_log_is_refused) {
    const std::string optimize = "\"$YOLK\" system xor optimize --json ";
    const Ran ran = run_shell(optimize + "--generations 1000000 --out " + quoted("a") + " --log " + quoted("log") +
                                  " > " + until_it_runs() + optimize + "--generations 1 --out " + quoted("a") +
                                  "; second=$?; " + optimize + "--generations 1 --log " + quoted("log") +
                                  "; third=$?; kill -HUP $first; wait $first; echo $? $second $third",
                              only(kLavapipe));
    EXPECT_EQ(ran.out, "0 1 1\n") << ran.err;
    EXPECT_THAT(ran.err, HasSubstr("log' is being written by another process"));
    const std::string log = read_text(folder_ / "log");
    EXPECT_THAT(log.substr(0, log.find('\n')), HasSubstr("\"generations\":1000000"));
    EXPECT_TRUE(std::filesystem::exists(folder_ / "a"));
    EXPECT_FALSE(std::filesystem::exists(folder_ / "a.lock"));
}

TEST_F(files, result_that_cannot_be_written_is_told_before_the_work) {
    const Ran missing =
        run_command({"system", "xor", "optimize", "--out", (folder_ / "no" / "a").string()}, only(kLavapipe));
    EXPECT_EQ(missing.code, 1);
    EXPECT_EQ(missing.out, "");
    EXPECT_THAT(missing.err, HasSubstr("No such file or directory"));
    const Ran folder = run_command({"system", "xor", "optimize", "--out", folder_.string()}, only(kLavapipe));
    EXPECT_EQ(folder.code, 2);
    EXPECT_EQ(folder.out, "");
    EXPECT_THAT(folder.err, HasSubstr("is a folder"));
    const Ran log = run_command({"system", "xor", "optimize", "--log", folder_.string()}, only(kLavapipe));
    EXPECT_EQ(log.code, 1);
    EXPECT_THAT(log.err, HasSubstr("Is a directory"));
}

// A named pipe that nothing writes to: each of these blocked when it opened the pipe. `timeout` ends it with 124.
TEST_F(files, named_pipe_in_the_place_of_a_file_is_an_error_at_once) {
    std::filesystem::create_directories(folder_ / "out");
    for (const char* name :
         {"policy", "system.safetensors", "own.glsl", "surface.json", "shapes", "out/checkpoint.yolk"})
        ASSERT_EQ(::mkfifo((folder_ / name).c_str(), 0600), 0) << name;
    const std::string commands[] = {"eval " + quoted("policy"),
                                    "train --env " + quoted("own.glsl") + " --out ''",
                                    "train cartpole --resume --out " + quoted("out"),
                                    "system xor evaluate --load " + quoted("system.safetensors"),
                                    "system xor save --out " + quoted("policy"),
                                    "system xor optimize --generations 1 --log " + quoted("policy")};
    for (const std::string& command : commands) {
        const Ran ran = run_shell("timeout -k 5 60 \"$YOLK\" " + command, only(kLavapipe));
        EXPECT_TRUE(ran.code == 1 || ran.code == 2) << command << ": " << ran.code << ", " << ran.err;
        EXPECT_THAT(ran.err, HasSubstr("named pipe")) << command;
    }
    // The tuning table is not needed, so that a notice does.
    const Ran table = run_shell(
        "YOLK_TABLE=" + quoted("policy") + " timeout -k 5 60 \"$YOLK\" eval " + quoted("shapes"), only(kLavapipe));
    EXPECT_EQ(table.code, 2) << table.err;
    EXPECT_THAT(table.err, HasSubstr("policy"));
    EXPECT_TRUE(std::filesystem::is_fifo(folder_ / "policy"));
}

// Whoever may write /dev would otherwise have put a regular file in its place.
TEST_F(files, device_in_the_place_of_a_result_stays_a_device) {
    std::filesystem::create_symlink("/dev/null", folder_ / "null");
    const Ran ran = run_command({"system", "xor", "save", "--out", (folder_ / "null").string()}, only(kLavapipe));
    EXPECT_EQ(ran.code, 2) << ran.err;
    EXPECT_THAT(ran.err, HasSubstr("is a device"));
    EXPECT_TRUE(std::filesystem::is_character_file(folder_ / "null"));
}

TEST_F(files, diverged_training_is_failed_work_and_keeps_the_last_finite_state) {
    const Ran ran = run_command(
        {"train", "cartpole", "--json", "--keep-going", "--population", "64", "--max-steps", "40", "--generations",
         "400", "--lr", "3e38", "--optimizer", "momentum", "--out", (folder_ / "out").string()},
        only(kLavapipe));
    EXPECT_EQ(ran.code, 1);
    EXPECT_THAT(ran.err, HasSubstr("has diverged"));
    EXPECT_THAT(ran.err, HasSubstr("The last good state, after "));
    const Ran eval =
        run_command({"eval", (folder_ / "out" / "policy.safetensors").string(), "--json"}, only(kLavapipe));
    EXPECT_EQ(eval.code, 0) << eval.err;
    EXPECT_TRUE(std::filesystem::exists(folder_ / "out" / "checkpoint.yolk"));
}

}  // namespace
}  // namespace yolk::cli
