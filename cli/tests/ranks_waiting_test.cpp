// SPDX-License-Identifier: Apache-2.0
// Ranks that wait for one that does not come or does not answer: they say so, and a limit ends it. Only in builds that
// found MPI.
#include <fmt/format.h>
#include <gmock/gmock.h>

#include "command.hpp"

namespace yolk::cli {
namespace {

using ::testing::HasSubstr;

constexpr const char* kMpi =
    "export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 OMPI_MCA_btl_vader_single_copy_mechanism=none "
    "OMPI_MCA_rmaps_base_oversubscribe=1 OMPI_MCA_orte_base_help_aggregate=0 LP_NUM_THREADS=1\n";
constexpr const char* kTraining =
    "\"$YOLK\" train cartpole --json --keep-going --population 64 --max-steps 40 --out ranks --generations 1000000 ";

class ranks_waiting : public InFolder {
   protected:
    [[nodiscard]] Ran run(const std::string& script) const {
        return run_shell(kMpi + ("cd '" + folder_.string() + "'\n") + script, only(kLavapipe));
    }
    /// A script that stops rank 1 of those that `ranks` starts after the second generation; "$stopped" is its process.
    [[nodiscard]] static std::string with_a_stopped_rank(const std::string& ranks) {
        return fmt::format(
            ": > out\nmpirun {} > out &\nlauncher=$!\n"
            "trap 'kill $launcher 2> /dev/null' EXIT\n"
            "for ((i = 0; i < 30000; ++i)); do [ $(wc -l < out) -ge 3 ] && break; sleep .01; done\n"
            "for child in $(cat /proc/$launcher/task/*/children); do\n"
            "  grep -qz '^OMPI_COMM_WORLD_RANK=1$' /proc/$child/environ && stopped=$child\n"
            "done\nkill -STOP $stopped\n",
            ranks);
    }
};

// One that printed its help, and another program: nothing of MPI tells the others. The others begin together, when the
// help has been printed and mpirun has seen its end: mpirun itself ends a job in which a process that did not begin MPI
// ends after others began it.
TEST_F(ranks_waiting, one_that_never_comes_is_named) {
    constexpr const char* kBegins =
        "[ $OMPI_COMM_WORLD_RANK != 1 ] || {{ echo $$ > 1; exec {}; }}\n"
        ": > $OMPI_COMM_WORLD_RANK\nuntil [ -s 1 ] && [ -e 0 ] && [ -e 2 ]; do sleep .05; done\n"
        "{}\nexec {} --rank-seconds 12\n";
    constexpr const char* kOnceItIsGone = "while kill -0 $(cat 1); do sleep .05; done 2> /dev/null";
    for (const auto& [other, then] : {std::pair("\"$YOLK\" train --help", kOnceItIsGone), {"sleep 300", ":"}}) {
        SCOPED_TRACE(other);
        for (const char* const name : {"0", "1", "2"}) std::filesystem::remove(folder_ / name);
        write_text(folder_ / "rank.sh", fmt::format(kBegins, other, then, kTraining));
        const Ran ran = run("mpirun -n 3 sh rank.sh");
        EXPECT_NE(ran.code, 0);
        EXPECT_THAT(ran.err, HasSubstr("Waiting for rank 1 for 5 s; given up after 12 s."));
        EXPECT_THAT(ran.err, HasSubstr("rank 1 did not come within"));
    }
}

// Each rank of a build without MPI sees from its variables that it is one, and the launcher ends those who wait for it.
TEST_F(ranks_waiting, one_without_mpi_says_so_and_ends_the_run) {
    const std::string other = fmt::format("env YOLK={} sh -c 'exec {}'", YOLK_WITHOUT_MPI, kTraining);
    const std::string with = fmt::format("-n 1 {}", kTraining);
    const std::string no_mpi = fmt::format("-n 1 {}", other);
    for (const auto& [ranks, number] : {std::pair(with + " : " + no_mpi, "process 1 of 2"),
                                        {no_mpi + " : " + with, "process 0 of 2"},
                                        {"-n 3 " + other, "process 0 of 3"}}) {
        SCOPED_TRACE(ranks);
        const Ran ran = run("mpirun " + ranks);
        EXPECT_NE(ran.code, 0);
        EXPECT_THAT(ran.err, HasSubstr(std::string("This is ") + number + " that a launcher started"));
        EXPECT_THAT(ran.err, HasSubstr("this build of Yolk has no MPI."));
        EXPECT_EQ(ran.out.find("generation"), std::string::npos) << "none trained: " << ran.out;
    }
}

// Rank 2 gives up two seconds before rank 0, which saves.
TEST_F(ranks_waiting, one_that_is_stopped_is_named_and_ends_the_run) {
    const std::string ranks = fmt::format("-n 2 {0} --rank-seconds 7 : -n 1 {0} --rank-seconds 5", kTraining);
    const Ran ran = run(with_a_stopped_rank(ranks) + "wait $launcher; echo ended $?\n");
    EXPECT_THAT(ran.out, HasSubstr("ended 1")) << ran.err;
    EXPECT_THAT(ran.err, HasSubstr("Waiting for rank 1 for 5 s; given up after 7 s."));
    EXPECT_THAT(ran.err, HasSubstr("rank 1 has not answered for 7 s, so the run ends."));
    EXPECT_TRUE(std::filesystem::exists(folder_ / "ranks" / "checkpoint.yolk")) << "what was good is saved";
}

TEST_F(ranks_waiting, a_signal_ends_the_wait_for_one_that_is_stopped) {
    const Ran ran = run(with_a_stopped_rank(fmt::format("-n 2 {}", kTraining)) +
                        "sleep 1; begun=$(date +%s%N)\n"
                        "for child in $(cat /proc/$launcher/task/*/children); do kill -TERM $child; done\n"
                        "wait $launcher; echo $((($(date +%s%N) - begun) / 1000000))\n");
    const int milliseconds = std::atoi(ran.out.c_str());
    EXPECT_GT(milliseconds, 0) << ran.out << ran.err;
    EXPECT_LT(milliseconds, 300000) << "two seconds, on a busy machine; the limit is 600 s";
    EXPECT_THAT(ran.err, HasSubstr("This rank was asked to end while it waited for rank 1."));
}

}  // namespace
}  // namespace yolk::cli
