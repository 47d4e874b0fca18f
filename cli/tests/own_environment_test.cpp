// SPDX-License-Identifier: Apache-2.0
// yolk train --env FILE, and what comes after it.
#include <gmock/gmock.h>

#include <algorithm>

#include "command.hpp"

namespace yolk::cli {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

constexpr const char* kAcrobot = YOLK_ENVIRONMENTS_FOLDER "/acrobot.glsl";

class own_environment : public InFolder {
   protected:
    [[nodiscard]] std::string out() const { return (folder_ / "out").string(); }
    [[nodiscard]] Ran train(const std::vector<std::string>& more) const {
        std::vector<std::string> arguments{"train", "--out", out()};
        arguments.insert(arguments.end(), more.begin(), more.end());
        return run_command(arguments, only(kLavapipe));
    }
    void refuses(const std::vector<std::string>& arguments, int code, const ::testing::Matcher<std::string>& message) {
        const Ran ran = run_command(arguments, only(kLavapipe));
        EXPECT_EQ(ran.code, code) << ran.err;
        EXPECT_THAT(ran.err, message);
        EXPECT_FALSE(std::filesystem::exists(out()));
    }
};

// In exact mode the figures are the same on every device, on every run: the population around the untrained policy
// returns -496 on average, that is, nearly all of its members hang for all 500 steps, and the trained policy's -81 is
// beyond the -100 at which Gymnasium calls the task solved. A policy that did not learn would stay where it was.
TEST_F(own_environment, acrobot_learns_and_is_evaluated_and_resumed) {
    const std::vector<std::string> flags{"--env",    kAcrobot, "--population", "512",
                                         "--hidden", "16",     "--json",       "--keep-going"};
    auto with = [&](const std::vector<std::string>& more) {
        std::vector<std::string> all = flags;
        all.insert(all.end(), more.begin(), more.end());
        return train(all);
    };
    const Ran ran = with({"--generations", "6"});
    ASSERT_EQ(ran.code, 0) << ran.err;
    EXPECT_EQ(ran.last()["task"], "acrobot");
    EXPECT_LT(ran.lines().front()["mean_return"].get<double>(), -400.0);
    EXPECT_GT(ran.last()["eval_mean_return"].get<double>(), -100.0);

    EXPECT_EQ(ran.last()["solved"], true);  // by the mark of the file, not by the stricter one that would end training

    const std::string policy = ran.last()["policy"];
    const Ran evaluated = run_command({"eval", policy, "--env", kAcrobot, "--json"}, only(kLavapipe));
    ASSERT_EQ(evaluated.code, 0) << evaluated.err;
    EXPECT_EQ(evaluated.last()["task"], "acrobot");
    EXPECT_GT(evaluated.last()["mean_return"].get<double>(), -100.0);
    const Ran without = run_command({"eval", policy}, only(kLavapipe));
    EXPECT_EQ(without.code, 2);
    EXPECT_THAT(without.err, HasSubstr("--env"));

    const Ran resumed = with({"--generations", "7", "--resume"});
    ASSERT_EQ(resumed.code, 0) << resumed.err;
    EXPECT_EQ(resumed.last()["resumed_from"], 6);
    const Ran other = train({"cartpole", "--population", "512", "--hidden", "16", "--resume"});
    EXPECT_EQ(other.code, 2);
    EXPECT_THAT(other.err, HasSubstr("task 'acrobot', but 'cartpole' was given"));
}

// A worker makes pipelines of users' code first, once for each text and driver.
TEST_F(own_environment, its_pipelines_are_tried_in_a_worker_once) {
    const std::filesystem::path tasks = folder_ / "tasks";
    const std::filesystem::path worker = folder_ / "worker";
    const std::filesystem::path real = std::filesystem::path(YOLK_BINARY).parent_path() / "../libexec/yolk/yolk-worker";
    write_text(worker, "#!/bin/sh\necho \"$1\" >> '" + tasks.string() + "'\nexec '" + real.string() + "' \"$@\"\n");
    std::filesystem::permissions(worker, std::filesystem::perms::owner_all);
    std::map<std::string, std::string> variables = only(kLavapipe);
    variables["YOLK_WORKER"] = worker.string();
    variables["YOLK_CACHE"] = (folder_ / "cache").string();
    const auto tried = [&](const std::vector<std::string>& arguments) {
        write_text(tasks, "");
        const Ran ran = run_command(arguments, variables);
        EXPECT_EQ(ran.code, 0) << ran.err;
        const std::string all = read_text(tasks);
        std::size_t count = 0;
        for (std::size_t at = all.find("pipeline"); at != std::string::npos; at = all.find("pipeline", at + 1)) ++count;
        return count;
    };
    const std::vector<std::string> train{"train",        "--env", kAcrobot,       "--generations", "1",
                                         "--population", "64",    "--keep-going", "--out",         ""};
    EXPECT_GE(tried(train), 2U) << "the population's and the mean's";
    EXPECT_EQ(tried(train), 0U) << "another process, the same text and driver";
    const std::string kernel = YOLK_EXAMPLES_FOLDER "/09_own_kernel/";
    EXPECT_EQ(tried({"inspect", "--kernel", kernel + "my.comp", "--space", kernel + "space.json"}), 1U);
}

// lavapipe compiles to machine code when a pipeline is dispatched first, and keeps that in the folder below: the
// training's process must not be the first to do it.
TEST_F(own_environment, a_worker_compiles_what_a_driver_puts_off) {
    const std::filesystem::path worker = folder_ / "worker";
    const std::filesystem::path code = folder_ / "code";
    const std::filesystem::path real = std::filesystem::path(YOLK_BINARY).parent_path() / "../libexec/yolk/yolk-worker";
    write_text(worker, "#!/bin/sh\n[ \"$1\" = pipeline ] && export MESA_SHADER_CACHE_DIR='" + code.string() +
                           "'\nexec '" + real.string() + "' \"$@\"\n");
    std::filesystem::permissions(worker, std::filesystem::perms::owner_all);
    std::map<std::string, std::string> variables = only(kLavapipe);
    variables["YOLK_WORKER"] = worker.string();
    variables["YOLK_CACHE"] = (folder_ / "cache").string();
    const std::string kernel = YOLK_EXAMPLES_FOLDER "/09_own_kernel/";
    const Ran ran =
        run_command({"inspect", "--kernel", kernel + "my.comp", "--space", kernel + "space.json"}, variables);
    ASSERT_EQ(ran.code, 0) << ran.err;
    const auto is_code = [](const auto& entry) { return entry.is_regular_file() && entry.path().stem() != "index"; };
    ASSERT_TRUE(std::filesystem::exists(code));
    EXPECT_GE(std::ranges::count_if(std::filesystem::recursive_directory_iterator(code), is_code), 1);
}

// Here the worker is killed as an excess of memory, or the compiler's own crash, would end it.
TEST_F(own_environment, a_driver_that_crashes_on_its_pipeline_is_an_error) {
    const std::filesystem::path worker = folder_ / "worker";
    const std::filesystem::path real = std::filesystem::path(YOLK_BINARY).parent_path() / "../libexec/yolk/yolk-worker";
    write_text(worker, "#!/bin/sh\n[ \"$1\" != pipeline ] || kill -SEGV $$\nexec '" + real.string() + "' \"$@\"\n");
    std::filesystem::permissions(worker, std::filesystem::perms::owner_all);
    std::map<std::string, std::string> variables = only(kLavapipe);
    variables["YOLK_WORKER"] = worker.string();
    variables["YOLK_CACHE"] = (folder_ / "cache").string();
    const std::vector<std::string> train{"train", "--env", kAcrobot, "--generations", "1", "--out", out()};
    const Ran ran = run_command(train, variables);
    EXPECT_EQ(ran.code, 1) << ran.err;
    EXPECT_THAT(ran.err, AllOf(HasSubstr("The kernel [rollout_acrobot"),
                               HasSubstr("while the driver compiled it, its process was ended by signal 11")));
    EXPECT_FALSE(std::filesystem::exists(folder_ / "out" / "policy.safetensors"));
}

TEST_F(own_environment, mistakes_in_the_file_are_shown_by_line) {
    std::string text = read_text(kAcrobot);
    const std::size_t at = text.find("exact_sin(");
    const std::size_t line =
        1 + static_cast<std::size_t>(std::count(text.begin(), text.begin() + static_cast<std::ptrdiff_t>(at), '\n'));
    text.replace(at, 10, "exact_sign(");
    const std::string file = (folder_ / "my_env.glsl").string();
    write_text(file, text);
    refuses({"train", "--env", file, "--out", out()}, 2,
            AllOf(HasSubstr(file + ":" + std::to_string(line) + ": 'exact_sign'"), HasSubstr("docs/environments.md")));
    write_text(file, "");
    refuses({"train", "--env", file, "--out", out()}, 2, HasSubstr("is empty"));
    write_text(file, std::string((1U << 20U) + 1, ' '));
    refuses({"train", "--env", file, "--out", out()}, 2, HasSubstr("at most 1048576"));
    write_text(folder_ / "my env.glsl", text);
    refuses({"train", "--env", (folder_ / "my env.glsl").string(), "--out", out()}, 2, HasSubstr("'my env'"));
}

TEST_F(own_environment, names_files_and_nothing_are_told_apart) {
    refuses({"train", "--env", (folder_ / "absent.glsl").string(), "--out", out()}, 1, HasSubstr("absent.glsl"));
    refuses({"train", "--env", folder_.string(), "--out", out()}, 2,
            HasSubstr("is a folder; a regular file is needed"));
    refuses({"train", "--env", "acrobat", "--out", out()}, 2, AllOf(HasSubstr("cartpole"), HasSubstr(".glsl")));
    refuses({"train", "--out", out()}, 2, HasSubstr("--env FILE"));
    refuses({"train", "cartpole", "--env", kAcrobot, "--out", out()}, 2, HasSubstr("one environment"));
    refuses({"train", kAcrobot, "--hidden", "4", "--max-steps", "501", "--out", out()}, 2, HasSubstr("at most 500"));
    refuses({"check", "--run", kAcrobot, "--generations", "1"}, 1, HasSubstr("exact twin cannot run 'acrobot'"));
}

TEST_F(own_environment, is_timed_by_the_bench) {
    const Ran ran =
        run_command({"bench", "rollout", "--env", kAcrobot, "--population", "64", "--json"}, only(kLavapipe));
    ASSERT_EQ(ran.code, 0) << ran.err;
    EXPECT_EQ(ran.last()["environment"], "acrobot");
    EXPECT_EQ(ran.last()["steps"], 500);
    EXPECT_GT(ran.last()["evaluations_per_second"].get<double>(), 0.0);
}

}  // namespace
}  // namespace yolk::cli
