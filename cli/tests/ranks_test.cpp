// SPDX-License-Identifier: Apache-2.0
// `mpirun -n N yolk train`: ranks of this machine, over Open MPI. Only in builds that found it.
#include <fmt/format.h>
#include <gmock/gmock.h>

#include "command.hpp"

namespace yolk::cli {
namespace {

using ::testing::HasSubstr;

/// As root, with more ranks than cores, and nothing but loopback.
constexpr const char* kMpirun =
    "export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 OMPI_MCA_btl_vader_single_copy_mechanism=none "
    "OMPI_MCA_rmaps_base_oversubscribe=1 OMPI_MCA_orte_base_help_aggregate=0 LP_NUM_THREADS=1\n";

constexpr const char* kTask =
    "train cartpole --json --keep-going --population 64 --max-steps 40 --optimizer momentum --seed 3 ";

std::size_t occurrences(const std::string& text, const std::string& part) {
    std::size_t count = 0;
    for (std::size_t at = text.find(part); at != std::string::npos; at = text.find(part, at + 1)) ++count;
    return count;
}

class ranks : public InFolder {
   protected:
    [[nodiscard]] Ran run(const std::string& script) const {
        return run_shell(kMpirun + ("cd '" + folder_.string() + "'\n") + script, only(kLavapipe));
    }
    [[nodiscard]] Json alone(int generations) const {
        const Ran ran = run(fmt::format("\"$YOLK\" {} --out alone --generations {}", kTask, generations));
        EXPECT_EQ(ran.code, 0) << ran.err;
        return ran.last();
    }
};

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
        EXPECT_LE(last["received_bytes_per_generation"], 1000);
    }
}

TEST_F(ranks, have_devices_of_different_vendors) {
    const Json expected = alone(4);
    const std::string rank = fmt::format("\"$YOLK\" {} --out ranks --generations 4", kTask);
    const Ran ran =
        run(fmt::format("mpirun -n 1 {0} : -n 1 env VK_ICD_FILENAMES={1} VK_DRIVER_FILES={1} {0}", rank, kSwiftShader));
    ASSERT_EQ(ran.code, 0) << ran.err;
    EXPECT_EQ(ran.last()["state_hash"], expected["state_hash"]);
}

TEST_F(ranks, one_that_is_killed_ends_all_and_any_number_goes_on) {
    const Json expected = alone(60);
    const std::string command = fmt::format("{} --out ranks --generations 60 --checkpoint-every 1", kTask);
    const Ran killed = run("mpirun -n 3 \"$YOLK\" " + command +
                           " > out &\nlauncher=$!\n"
                           "while kill -0 $launcher && [ $(wc -l < out) -lt 5 ]; do sleep .01; done\n"
                           "children=$(cat /proc/$launcher/task/*/children)\nset -- $children\nkill -9 $2\n"
                           "wait $launcher; echo ended $?\nfor i in {1..100}; do kill -0 $children || break; sleep .1; "
                           "done\nkill -0 $children && echo alive\ntrue");
    ASSERT_EQ(killed.code, 0) << killed.err;
    EXPECT_THAT(killed.out, HasSubstr("ended 137")) << killed.err;
    EXPECT_THAT(killed.out, ::testing::Not(HasSubstr("alive")));
    const Ran resumed = run("mpirun -n 2 \"$YOLK\" " + command + " --resume");
    ASSERT_EQ(resumed.code, 0) << resumed.err;
    EXPECT_GE(resumed.last()["resumed_from"], 4);
    EXPECT_EQ(resumed.last()["state_hash"], expected["state_hash"]);
    EXPECT_EQ(resumed.last()["eval_mean_return"], expected["eval_mean_return"]);
}

// Where the machine lets us, hosts are network namespaces with links of 100 Mbit/s and messages go through them; else
// through loopback.
TEST_F(ranks, over_a_network_have_the_state_of_one) {
    const Json expected = alone(4);
    const Ran ran = run(fmt::format(
        "launcher='mpirun -n 2 --mca btl self,tcp'\n"
        // In a chroot a namespace can be made and not entered.
        "if ip netns add yolk-probe-$$ && (ip netns exec yolk-probe-$$ true; entered=$?; ip netns del yolk-probe-$$; "
        "exit $entered); then\n"
        "  launcher='" YOLK_BENCH_FOLDER
        "/distributed/namespaces.sh 2 100mbit'\nfi\n"
        "$launcher \"$YOLK\" {} --out ranks --generations 4",
        kTask));
    ASSERT_EQ(ran.code, 0) << ran.err;
    EXPECT_EQ(ran.last()["state_hash"], expected["state_hash"]);
    EXPECT_EQ(ran.last()["ranks"].size(), 2U);
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
    const Ran other = run("export SLURM_STEP_NUM_TASKS=4 SLURM_PROCID=0\n" + rank);
    EXPECT_EQ(other.code, 1);
    EXPECT_THAT(other.err, HasSubstr("A launcher started 4 processes (SLURM_STEP_NUM_TASKS), but MPI sees 1"));
}

}  // namespace
}  // namespace yolk::cli
