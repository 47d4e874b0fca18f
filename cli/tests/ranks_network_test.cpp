// SPDX-License-Identifier: Apache-2.0
// `mpirun -n 2 yolk train` over networks that are slow, lose packets, or are far away: the state of one process. Hosts
// are network namespaces of this machine (bench/distributed/namespaces.sh); where it cannot make them, which a dry run
// tells, ranks talk over loopback. Only in builds that found MPI.
#include <fmt/format.h>
#include <gmock/gmock.h>

#include <iostream>

#include "command.hpp"

namespace yolk::cli {
namespace {

using ::testing::AnyOf;
using ::testing::HasSubstr;

constexpr const char* kNamespaces = YOLK_BENCH_FOLDER "/distributed/namespaces.sh";
constexpr const char* kForMpi =
    "export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 OMPI_MCA_rmaps_base_oversubscribe=1 "
    "LP_NUM_THREADS=1\n";
/// The script's exit codes.
constexpr int kRefused = 2;
constexpr int kMachineCannot = 3;

class ranks_network : public InFolder {
   protected:
    [[nodiscard]] Ran run(const std::string& script) const {
        return run_shell(kForMpi + ("cd '" + folder_.string() + "'\n") + script, only(kLavapipe));
    }

    /// What starts two ranks over such a network, or over loopback.
    [[nodiscard]] std::string launcher(const std::string& network) const {
        const std::string over_network = fmt::format("'{}' --limit 60 {}", kNamespaces, network);
        const Ran dry = run(over_network + " true");
        if (dry.code == 0) return over_network;
        EXPECT_EQ(dry.code, kMachineCannot) << dry.err;
        std::cout << "Over loopback, without " << network << ": " << dry.err;
        return "mpirun -n 2 --mca btl self,tcp";
    }

    void expect_state_of_one(const std::string& network) const {
        const std::string command =
            "\"$YOLK\" train cartpole --json --keep-going --population 64 --max-steps 40 --generations 3 --seed 3 ";
        const Ran alone = run(command + "--out alone");
        ASSERT_EQ(alone.code, 0) << alone.err;
        const Ran ran = run(fmt::format("{} {} --out ranks", launcher(network), command));
        ASSERT_EQ(ran.code, 0) << ran.err;
        EXPECT_EQ(ran.last()["state_hash"], alone.last()["state_hash"]);
        EXPECT_EQ(ran.last()["eval_mean_return"], alone.last()["eval_mean_return"]);
        EXPECT_EQ(ran.last()["ranks"].size(), 2U);
    }
};

TEST_F(ranks_network, slow_links_have_the_state_of_one) { expect_state_of_one("--rate 100mbit"); }

TEST_F(ranks_network, links_that_lose_packets_have_the_state_of_one) { expect_state_of_one("--loss 1"); }

TEST_F(ranks_network, hosts_far_away_have_the_state_of_one) { expect_state_of_one("--delay 20"); }

TEST_F(ranks_network, what_the_script_does_not_take_is_refused) {
    const auto expect_refused = [this](const std::string& arguments, const std::string& message) {
        const Ran ran = run(fmt::format("'{}' {}", kNamespaces, arguments));
        EXPECT_EQ(ran.code, kRefused) << ran.err;
        EXPECT_THAT(ran.err, HasSubstr(message));
    };
    expect_refused("--hosts 1 true", "--hosts is '1'; 2 to 64 are allowed.");
    expect_refused("--rate fast true", "--rate is 'fast'; a whole number with kbit, mbit or gbit is needed");
    expect_refused("--loss 51 true", "--loss is '51'; 0 to 50 percent are allowed.");
    expect_refused("--delay -1 true", "--delay is '-1'; 0 to 1000 milliseconds are allowed.");
    expect_refused("--limit 0 true", "--limit is '0'; 1 to 86400 seconds are allowed.");
    expect_refused("--jitter 3 true", "There is no option --jitter.");
    expect_refused("--loss", "--loss needs a value.");
    expect_refused("--loss 1", "A command is needed after the options.");
}

// Interrupted as the set-up goes on, and as the command runs.
TEST_F(ranks_network, what_the_script_makes_is_gone_after_an_interrupt) {
    for (const char* seconds : {".05", ".3", "1"}) {
        SCOPED_TRACE(seconds);
        // Job control: a job of its own does not ignore Ctrl-C.
        const Ran ran =
            run(fmt::format("set -m\n'{}' --loss 1 --delay 1 sleep 20 >&2 &\nscript=$!\nsleep {}\n"
                            "kill -INT $script\nwait $script\necho ended $?\n"
                            "ip netns list | grep \"yolk-$script-\"\ntrue",
                            kNamespaces, seconds));
        EXPECT_THAT(ran.out, AnyOf("ended 130\n", fmt::format("ended {}\n", kMachineCannot))) << ran.err;
    }
}

}  // namespace
}  // namespace yolk::cli
