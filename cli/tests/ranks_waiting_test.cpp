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

// One that printed its help, and another program: nothing of MPI tells the others. The others begin when the help has
// been printed: mpirun itself ends a job in which a process that did not begin MPI ends after others began it.
TEST_F(ranks_waiting, one_that_never_comes_is_named) {
    for (const char* const other : {"\"$YOLK\" train --help", "sleep 300"}) {
        SCOPED_TRACE(other);
        const std::string late = fmt::format("sh -c 'sleep 3; exec {} --rank-seconds 7'", kTraining);
        const Ran ran = run(fmt::format("mpirun -n 1 {0} : -n 1 {1} : -n 1 {0}", late, other));
        EXPECT_NE(ran.code, 0);
        EXPECT_THAT(ran.err, HasSubstr("Waiting for rank 1 for 5 s; given up after 7 s."));
        EXPECT_THAT(ran.err, HasSubstr("rank 1 did not come within"));
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
    EXPECT_LT(milliseconds, 20000) << "two seconds, on a busy machine; the limit is 600";
    EXPECT_THAT(ran.err, HasSubstr("This rank was asked to end while it waited for rank 1."));
}

}  // namespace
}  // namespace yolk::cli
