// SPDX-License-Identifier: Apache-2.0
// Every way in which the system or a person ends a command: what was learned is saved, and nothing hangs.
#include <gmock/gmock.h>

#include <chrono>
#include <csignal>
#include <sstream>

#include "command.hpp"

namespace yolk::cli {
namespace {

using ::testing::HasSubstr;

class interrupt : public InFolder {
   protected:
    [[nodiscard]] std::vector<std::string> endless(const std::string& out) const {
        return {"train",       "cartpole", "--json",       "--keep-going", "--generations", "1000000",
                "--max-steps", "40",       "--population", "64",           "--out",         (folder_ / out).string()};
    }
    /// The same for a shell, behind "$YOLK".
    [[nodiscard]] std::string endless_text(const std::string& out) const {
        std::string text = "\"$YOLK\"";
        for (const std::string& argument : endless(out)) text += " '" + argument + "'";
        return text;
    }
    void expect_saved(const std::string& out) const {
        for (const char* name : {"checkpoint.yolk", "policy.safetensors", "metrics.jsonl", "log.yolk"})
            EXPECT_TRUE(std::filesystem::exists(folder_ / out / name)) << out << ": " << name;
        EXPECT_EQ(std::distance(std::filesystem::directory_iterator(folder_ / out), {}), 4);
    }
};

TEST_F(interrupt, each_signal_ends_training_and_saves) {
    const std::pair<int, int> all[] = {{SIGINT, 1},  {SIGTERM, 1}, {SIGHUP, 1},
                                       {SIGXCPU, 1}, {SIGXCPU, 2},  // as at each further second of processor time
                                       {SIGTERM, 2},  // as `timeout` sends it, to the process and to its group
                                       {SIGHUP, 3}};  // as a terminal that closes
    for (const auto& [number, times] : all) {
        const std::string out = std::to_string(number) + "-" + std::to_string(times);
        const Ran ran =
            run_and_interrupt(endless(out), only(kLavapipe), {.number = number, .lines = 2, .times = times});
        ASSERT_EQ(ran.code, 0) << out << ": " << ran.err;
        EXPECT_EQ(ran.last()["interrupted"], true);
        expect_saved(out);
    }
}

TEST_F(interrupt, signal_that_the_parent_ignores_stays_ignored) {
    const Ran ran = run_shell(
        "trap '' HUP; \"$YOLK\" train cartpole --json --generations 3 --keep-going --population 64 "
        "--max-steps 40 --out '" +
            (folder_ / "out").string() + "' & kill -HUP $!; wait $!",
        only(kLavapipe));
    ASSERT_EQ(ran.code, 0) << ran.err;
    EXPECT_EQ(ran.last()["generations"], 3);
    EXPECT_EQ(ran.last()["interrupted"], false);
}

TEST_F(interrupt, closed_pipe_ends_training_and_saves) {
    const Ran ran = run_shell(endless_text("out") + " | head -n 1; exit ${PIPESTATUS[0]}", only(kLavapipe));
    EXPECT_EQ(ran.code, 0) << ran.err;
    EXPECT_EQ(ran.lines().size(), 1U);
    EXPECT_THAT(ran.err, HasSubstr("Nothing reads standard output any more"));
    expect_saved("out");
    // The same where the parent ignores SIGPIPE, as service managers do.
    const Ran ignored =
        run_shell("trap '' PIPE; " + endless_text("again") + " | head -n 1; exit ${PIPESTATUS[0]}", only(kLavapipe));
    EXPECT_EQ(ignored.code, 0) << ignored.err;
    expect_saved("again");
}

TEST_F(interrupt, closed_pipe_and_hang_up_end_an_optimization_and_save) {
    const std::string file = folder_ / "system.safetensors";
    const std::vector<std::string> arguments{"system",        "xor",     "optimize", "--json",
                                             "--generations", "1000000", "--out",    file};
    std::string text = "\"$YOLK\"";
    for (const std::string& argument : arguments) text += " '" + argument + "'";
    const Ran piped = run_shell(text + " | head -n 1; exit ${PIPESTATUS[0]}", only(kLavapipe));
    EXPECT_EQ(piped.code, 0) << piped.err;
    for (const std::string& saved : {file, file + ".checkpoint", file + ".log.yolk"})
        EXPECT_TRUE(std::filesystem::remove(saved)) << saved;
    const Ran hung_up = run_and_interrupt(arguments, only(kLavapipe), {.number = SIGHUP, .lines = 2});
    EXPECT_EQ(hung_up.code, 0) << hung_up.err;
    EXPECT_EQ(hung_up.last()["stopped_by"], "caller");
    for (const std::string& saved : {file, file + ".checkpoint", file + ".log.yolk"})
        EXPECT_TRUE(std::filesystem::remove(saved)) << saved;
    EXPECT_TRUE(std::filesystem::is_empty(folder_)) << "a lock file is left over";
}

// The host computes for minutes what this product must be; nothing of the check is lost.
TEST_F(interrupt, a_check_ends_while_the_host_computes_what_to_expect) {
    // By eight seconds of its own time it is in the midst of that.
    const std::string script =
        "\"$YOLK\" check --json --quiet --kernel concat --shape 'matmul m=2048 n=2048 k=4096' --configurations 1 > "
        "out.json &\nchild=$!\n"
        "while ticks=$(cut -d' ' -f14 /proc/$child/stat) && [ $ticks -lt 800 ]; do sleep .05; done\n"
        "kill -TERM $child; begun=$(date +%s%N); wait $child\n"
        "echo $? $((($(date +%s%N) - begun) / 1000000)); cat out.json\n";
    const Ran ran = run_shell("cd '" + folder_.string() + "'\n" + script, only(kLavapipe));
    std::istringstream lines(ran.out);
    int code = 0, milliseconds = 0;
    lines >> code >> milliseconds;
    EXPECT_EQ(code, 1) << ran.out << ran.err;
    EXPECT_LT(milliseconds, 60000) << "a second, on a busy machine; the host computes for minutes";
    const Json outcome = ran.last();
    ASSERT_TRUE(outcome.is_object()) << ran.out << ran.err;
    EXPECT_EQ(outcome["interrupted"], true);
    EXPECT_GE(outcome["failed"], 1);
}

// The soft limit on processor time, by the system itself.
TEST_F(interrupt, limit_on_processor_time_ends_training_and_saves) {
    const Ran ran = run_shell("ulimit -S -t 3; " + endless_text("out"), only(kLavapipe));
    ASSERT_EQ(ran.code, 0) << ran.err;
    EXPECT_EQ(ran.last()["interrupted"], true);
    expect_saved("out");
}

// The log grows past it; what was done before is saved, and is there to resume.
TEST_F(interrupt, limit_on_file_size_fails_as_a_full_disk_does) {
    const Ran ran =
        run_shell("ulimit -f 20; " + endless_text("out") + " | tail -n 1; exit ${PIPESTATUS[0]}", only(kLavapipe));
    EXPECT_EQ(ran.code, 1) << ran.err;
    EXPECT_THAT(ran.err, HasSubstr("File too large"));
    EXPECT_TRUE(std::filesystem::exists(folder_ / "out" / "checkpoint.yolk"));
}

// Closed streams whose numbers went to the checkpoint and others, and a full device behind standard error.
TEST_F(interrupt, closed_and_full_streams_are_told_and_harm_nothing) {
    const std::string train =
        "\"$YOLK\" train cartpole --json --generations 2 --keep-going --population 64 --max-steps "
        "40 --checkpoint-every 1 --out '" +
        (folder_ / "out").string() + "' ";
    const Ran closed = run_shell(train + "<&- >&-", only(kLavapipe));
    EXPECT_EQ(closed.code, 1);
    EXPECT_THAT(closed.err, HasSubstr("Standard output could not be written: Bad file descriptor"));
    expect_saved("out");
    EXPECT_EQ(run_command({"eval", (folder_ / "out" / "policy.safetensors").string()}, only(kLavapipe)).code, 0);
    EXPECT_EQ(run_shell(train + "--resume <&- >&- 2>&-", only(kLavapipe)).code, 1);
    EXPECT_EQ(run_command({"eval", (folder_ / "out" / "policy.safetensors").string()}, only(kLavapipe)).code, 0);
    EXPECT_EQ(run_shell("\"$YOLK\" fly 2>/dev/full", only(kLavapipe)).code, 2);
    std::filesystem::remove_all(folder_ / "out");
    const Ran full = run_shell(train + "> /dev/full", only(kLavapipe));
    EXPECT_EQ(full.code, 1);
    EXPECT_THAT(full.err, HasSubstr("Standard output could not be written: No space left on device"));
    expect_saved("out");
}

}  // namespace
}  // namespace yolk::cli
