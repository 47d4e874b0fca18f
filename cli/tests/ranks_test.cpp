// SPDX-License-Identifier: Apache-2.0
// `mpirun -n N yolk train`: ranks of this machine, over Open MPI. Only in builds that found it.
#include <fmt/format.h>
#include <gmock/gmock.h>

#include <span>

#include "command.hpp"

namespace yolk::cli {
namespace {

using ::testing::HasSubstr;

/// As root, with more ranks than cores, and nothing but loopback.
constexpr const char* kRankVariables =
    "export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 OMPI_MCA_btl_vader_single_copy_mechanism=none "
    "OMPI_MCA_rmaps_base_oversubscribe=1 OMPI_MCA_orte_base_help_aggregate=0 LP_NUM_THREADS=1\n";

constexpr const char* kTask =
    "train cartpole --json --keep-going --population 64 --max-steps 40 --optimizer momentum --seed 3 ";

class ranks : public InFolder {
   protected:
    [[nodiscard]] Ran run(const std::string& script) const {
        return run_shell(kRankVariables + ("cd '" + folder_.string() + "'\n") + script, only(kLavapipe));
    }
    [[nodiscard]] Json alone(int generations) const {
        const Ran ran = run(fmt::format("\"$YOLK\" {} --out alone --generations {}", kTask, generations));
        EXPECT_EQ(ran.code, 0) << ran.err;
        return ran.last();
    }
};

/// Lines of generations say what each rank evaluated and what rank 0 exchanged; the outcome has their mean.
void expect_traffic_of_each_generation(const Ran& ran, int count) {
    const std::vector<Json> lines = ran.lines();
    std::uint64_t sent = 0;
    std::uint64_t received = 0;
    for (const Json& line : std::span(lines).first(lines.size() - 1)) {
        ASSERT_EQ(line["ranks"].size(), static_cast<std::size_t>(count)) << line.dump();
        std::uint64_t members = 0;
        for (const Json& share : line["ranks"]) members += share["members"].get<std::uint64_t>();
        EXPECT_EQ(members, 64U);
        EXPECT_GE(line["sent_bytes"], 1) << line.dump();
        sent += line["sent_bytes"].get<std::uint64_t>();
        received += line["received_bytes"].get<std::uint64_t>();
    }
    EXPECT_EQ(lines.back()["sent_bytes_per_generation"], sent / (lines.size() - 1));
    EXPECT_EQ(lines.back()["received_bytes_per_generation"], received / (lines.size() - 1));
}

TEST_F(ranks, any_number_has_the_state_of_one) {
    const Json expected = alone(6);
    for (const int count : {1, 2, 4}) {
        SCOPED_TRACE(count);
        const Ran ran = run(fmt::format("mpirun -n {} \"$YOLK\" {} --out ranks --generations 6", count, kTask));
        ASSERT_EQ(ran.code, 0) << ran.err;
        EXPECT_EQ(ran.lines().size(), 7U);
        const Json last = ran.last();
        EXPECT_EQ(last["state_hash"], expected["state_hash"]);
        EXPECT_EQ(last["eval_mean_return"], expected["eval_mean_return"]);
        if (count == 1) continue;
        ASSERT_EQ(last["ranks"].size(), static_cast<std::size_t>(count));
        std::uint64_t members = 0;
        for (const Json& share : last["ranks"]) members += share["members"].get<std::uint64_t>();
        EXPECT_EQ(members, 6U * 64);
        EXPECT_GE(last["received_bytes_per_generation"], 32 / count * (count - 1));
        EXPECT_LE(last["received_bytes_per_generation"], 1000 * (count - 1));
        expect_traffic_of_each_generation(ran, count);
    }
}

TEST_F(ranks, of_a_run_over_a_data_set_have_the_state_of_one) {
    std::string rows = "x,y,kind\n";
    for (int i = 0; i < 200; ++i)
        rows += fmt::format("{},{},{}\n", i % 17, i % 23, i % 17 < i % 23 ? "above" : "below");
    write_text(folder_ / "points.csv", rows);
    const std::string command =
        "\"$YOLK\" train points.csv --hidden 8 --population 64 --batch 32 --generations 4 --json --quiet --out ";
    const Ran one = run(command + "one");
    ASSERT_EQ(one.code, 0) << one.err;
    EXPECT_FALSE(one.last().contains("ranks"));
    const Ran two = run("mpirun -n 2 " + command + "two");
    ASSERT_EQ(two.code, 0) << two.err;
    const Json last = two.last();
    EXPECT_EQ(last["state_hash"], one.last()["state_hash"]);
    EXPECT_EQ(last["test"], one.last()["test"]);
    ASSERT_EQ(last["ranks"].size(), 2U);
    EXPECT_GT(last["ranks"][1]["candidates"], 0);
    EXPECT_EQ(read_text(folder_ / "two" / "model.safetensors"), read_text(folder_ / "one" / "model.safetensors"));
}

TEST_F(ranks, of_a_recurrent_policy_have_the_state_of_one) {
    const std::string command = fmt::format("\"$YOLK\" {} --recurrent 5 --hidden none --generations 4 --out ", kTask);
    const Ran one = run(command + "one");
    ASSERT_EQ(one.code, 0) << one.err;
    const Ran two = run("mpirun -n 2 " + command + "two");
    ASSERT_EQ(two.code, 0) << two.err;
    EXPECT_EQ(two.last()["state_hash"], one.last()["state_hash"]);
    EXPECT_EQ(two.last()["eval_mean_return"], one.last()["eval_mean_return"]);
}

TEST_F(ranks, help_and_version_are_printed_once) {
    const Ran help = run("mpirun -n 3 \"$YOLK\" train --help");
    EXPECT_EQ(help.code, 0) << help.err;
    EXPECT_EQ(occurrences(help.out, "--checkpoint-every"), 1U) << help.out;
    const Ran version = run("mpirun -n 3 \"$YOLK\" --version");
    EXPECT_EQ(version.code, 0) << version.err;
    EXPECT_EQ(occurrences(version.out, "yolk "), 1U) << version.out;
}

TEST_F(ranks, have_devices_of_different_vendors) {
    const Json expected = alone(4);
    const std::string rank = fmt::format("\"$YOLK\" {} --out ranks --generations 4", kTask);
    const Ran ran =
        run(fmt::format("mpirun -n 1 {0} : -n 1 env VK_ICD_FILENAMES={1} VK_DRIVER_FILES={1} {0}", rank, kSwiftShader));
    ASSERT_EQ(ran.code, 0) << ran.err;
    EXPECT_EQ(ran.last()["state_hash"], expected["state_hash"]);
}

// No hidden layer and continuous actions: one state on either driver, on both, over ranks of both, after an
// interruption, by replay and by the exact twin.
TEST_F(ranks, linear_policies_with_continuous_actions_have_one_state) {
    const std::string settings = "--hidden none --population 64 --max-steps 40 --seed 3 ";
    const std::string unfinished = "train pendulum --json --keep-going " + settings;
    const std::string task = unfinished + "--generations 4 ";
    const std::string other = fmt::format("env VK_ICD_FILENAMES={0} VK_DRIVER_FILES={0} ", kSwiftShader);
    const std::string both =
        fmt::format("env VK_ICD_FILENAMES={0}:{1} VK_DRIVER_FILES={0}:{1} ", kLavapipe, kSwiftShader);
    const Ran alone = run("\"$YOLK\" " + task + "--out alone");
    ASSERT_EQ(alone.code, 0) << alone.err;
    const Json expected = alone.last()["state_hash"];
    const std::vector<std::string> ways{
        other + "\"$YOLK\" " + task + "--out ''", both + "\"$YOLK\" " + task + "--devices all --audit 0.5 --out ''",
        fmt::format("mpirun -n 1 \"$YOLK\" {1} --out ranks : -n 1 {0} \"$YOLK\" {1} --out ranks", other, task),
        "\"$YOLK\" " + unfinished + "--generations 2 --out cut > cut.json && \"$YOLK\" " + task + "--resume --out cut",
        "\"$YOLK\" replay alone --json"};
    for (const std::string& way : ways) {
        const Ran ran = run(way);
        ASSERT_EQ(ran.code, 0) << way << ran.err;
        EXPECT_EQ(ran.last()["state_hash"], expected) << way;
    }
    const Ran twin = run("\"$YOLK\" check --run pendulum --generations 4 " + settings);
    EXPECT_EQ(twin.code, 0) << twin.out << twin.err;
}

/// For a script that has `launcher`: waits until `out` has `count` lines. A launcher that ends before fails the script,
/// and none outlives it.
std::string await_lines(int count) {
    return fmt::format(
        "trap 'kill $launcher 2> /dev/null' EXIT\n"
        "for ((i = 0; i < 30000; ++i)); do\n"
        "  [ $(wc -l < out) -ge {0} ] && break\n"
        "  kill -0 $launcher || {{ echo 'the launcher ended before line {0}' >&2; exit 100; }}\n"
        "  sleep .01\n"
        "done\n"
        "[ $(wc -l < out) -ge {0} ] || {{ echo 'there is no line {0} after five minutes' >&2; exit 101; }}\n",
        count);
}

/// The launcher's processes are in the array `children` then.
std::string find_children(int count) {
    return fmt::format(
        "children=($(cat /proc/$launcher/task/*/children))\n"
        "[ ${{#children[@]}} -eq {} ] || {{ echo \"the launcher has the children ${{children[*]}}\" >&2; exit 102; "
        "}}\n",
        count);
}

/// For up to half a minute; one that nobody has waited for yet (a zombie) has ended, too.
constexpr const char* kAwaitTheirEnd =
    "for child in ${children[@]}; do\n"
    "  for ((i = 0; i < 300; ++i)); do\n"
    "    state=$(sed -n 's/^State:[[:space:]]*\\(.\\).*/\\1/p' /proc/$child/status 2> /dev/null)\n"
    "    [[ \"$state\" == [ZX] || -z \"$state\" ]] && continue 2\n"
    "    sleep .1\n"
    "  done\n"
    "  echo \"alive: $child, $state\"\n"
    "done\n";

int generations_in(const std::filesystem::path& metrics) {
    const Ran read{.code = 0, .out = read_text(metrics), .err = {}};
    int count = 0;
    for (const Json& line : read.lines()) count += line.is_object() && line.contains("generation") ? 1 : 0;
    return count;
}

TEST_F(ranks, one_that_is_killed_ends_all_and_any_number_goes_on) {
    const std::string command = fmt::format("\"$YOLK\" {} --out ranks --checkpoint-every 1 --generations ", kTask);
    const Ran killed =
        run(fmt::format(": > out\nmpirun -n 3 {} 1000000 > out &\nlauncher=$!\n", command) + await_lines(5) +
            find_children(3) + "kill -9 ${children[1]}\nwait $launcher; echo ended $?\n" + kAwaitTheirEnd);
    ASSERT_EQ(killed.code, 0) << killed.err;
    EXPECT_THAT(killed.out, HasSubstr("ended 137")) << killed.err;
    EXPECT_THAT(killed.out, ::testing::Not(HasSubstr("alive"))) << killed.err;
    const int done = generations_in(folder_ / "ranks" / "metrics.jsonl");
    ASSERT_GE(done, 4) << killed.err;
    const Json expected = alone(done + 5);
    const Ran resumed = run(fmt::format("mpirun -n 2 {} {} --resume", command, done + 5));
    ASSERT_EQ(resumed.code, 0) << resumed.err << killed.err;
    EXPECT_GE(resumed.last()["resumed_from"], done - 1) << killed.err;
    EXPECT_EQ(resumed.last()["state_hash"], expected["state_hash"]) << killed.err;
    EXPECT_EQ(resumed.last()["eval_mean_return"], expected["eval_mean_return"]) << killed.err;
}

TEST_F(ranks, a_signal_to_one_interrupts_all) {
    const Ran ran = run(fmt::format(": > out\nmpirun -n 2 \"$YOLK\" {} --out ranks --generations 1000000 > out &\n"
                                    "launcher=$!\n",
                                    kTask) +
                        await_lines(3) + find_children(2) +
                        "for child in ${children[@]}; do\n"
                        "  grep -qz '^OMPI_COMM_WORLD_RANK=1$' /proc/$child/environ && kill -TERM $child\n"
                        "done\nwait $launcher; code=$?\ncat out\nexit $code\n");
    ASSERT_EQ(ran.code, 0) << ran.err;
    EXPECT_EQ(ran.last()["interrupted"], true) << ran.out;
    EXPECT_GE(ran.last()["generations"], 2);
    EXPECT_TRUE(std::filesystem::exists(folder_ / "ranks" / "checkpoint.yolk"));
}

TEST_F(ranks, that_share_cores_are_told_once) {
    // More than any machine has.
    const Ran ran = run(
        fmt::format("mpirun -n 2 env OMPI_COMM_WORLD_LOCAL_SIZE=99999 \"$YOLK\" {} --out '' --generations 1", kTask));
    ASSERT_EQ(ran.code, 0) << ran.err;
    EXPECT_EQ(occurrences(ran.err, "99999 ranks share "), 1U) << ran.err;
    EXPECT_THAT(ran.err, HasSubstr("waiting ranks yield (mpi_yield_when_idle)"));
}

/// One message, on the ranks together, and no output.
void expect_one_message(const Ran& ran, const std::string& message) {
    EXPECT_EQ(ran.code, 2) << ran.err;
    EXPECT_EQ(ran.out, "");
    EXPECT_EQ(occurrences(ran.err, "error:"), 1U) << ran.err;
    EXPECT_THAT(ran.err, HasSubstr(message));
}

TEST_F(ranks, what_differs_or_does_not_fit_is_refused_once) {
    const std::string rank = "\"$YOLK\" train cartpole --json --out ranks ";
    expect_one_message(run(fmt::format("mpirun -n 1 {0} --sigma .1 : -n 2 {0} --sigma .2", rank)),
                       "The sigma of rank 1 is 0.2; that of rank 0 is 0.1.");
    expect_one_message(run(fmt::format("mpirun -n 3 {} --population 4", rank)),
                       "There are 3 ranks, but a population of 4 has 2 pairs.");
    expect_one_message(run(fmt::format("mpirun -n 2 {} --populatoin 4", rank)), "--populatoin");
    expect_one_message(run(fmt::format("mpirun -n 1 {0} : -n 1 {0} --generations 0", rank)),
                       "Rank 1: --generations is 0; at least 1 is needed.");
    expect_one_message(run(fmt::format("mpirun -n 1 {0} : -n 1 {0} --device nothing", rank)),
                       "Rank 1: There is no device 'nothing'.");
    expect_one_message(run("cp \"$YOLK\" other && printf x >> other\n" +
                           fmt::format("mpirun -n 2 {0} : -n 1 ./other {1}", rank, rank.substr(rank.find("train")))),
                       "The binary of rank 2 is ");
    const std::string text = read_text(YOLK_ENVIRONMENTS_FOLDER "/acrobot.glsl");
    for (const char* const name : {"one", "two"}) std::filesystem::create_directory(folder_ / name);
    write_text(folder_ / "one" / "acrobot.glsl", text);
    write_text(folder_ / "two" / "acrobot.glsl", text + "// another\n");
    expect_one_message(run("mpirun -n 1 \"$YOLK\" train --env one/acrobot.glsl --json --out ranks : "
                           "-n 1 \"$YOLK\" train --env two/acrobot.glsl --json --out ranks"),
                       "The environment_source of rank 1 is ");
    const Ran other = run("export SLURM_STEP_NUM_TASKS=4 SLURM_PROCID=0\n" + rank);
    EXPECT_EQ(other.code, 1);
    EXPECT_THAT(other.err, HasSubstr("A launcher started 4 processes (SLURM_STEP_NUM_TASKS), but MPI sees 1"));
}

TEST_F(ranks, commands_of_one_process_are_refused_once) {
    for (const char* const command :
         {"eval policy.safetensors", "replay yolk-out", "check --kernel noise", "bench rollout", "tune table list",
          "devices", "inspect", "plot metrics.jsonl --out a.svg", "system xor evaluate"}) {
        SCOPED_TRACE(command);
        expect_one_message(run(fmt::format("mpirun -n 3 \"$YOLK\" {}", command)),
                           "is for one process, and a launcher started 3");
    }
    expect_one_message(run("mpirun -n 3 \"$YOLK\""), "The command is missing");
    const Ran one = run("mpirun -n 1 \"$YOLK\" devices --json");
    EXPECT_EQ(one.code, 0) << one.err;
    EXPECT_EQ(one.lines().size(), 1U);
}

}  // namespace
}  // namespace yolk::cli
