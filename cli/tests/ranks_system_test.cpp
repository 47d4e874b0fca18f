// SPDX-License-Identifier: Apache-2.0
// `mpirun -n N yolk system NAME optimize`: ranks of this machine, over Open MPI. Only in builds that found it.
#include <fmt/format.h>
#include <gmock/gmock.h>

#include "command.hpp"

namespace yolk::cli {
namespace {

using ::testing::HasSubstr;

/// As root, with more ranks than cores.
constexpr const char* kMpirun =
    "export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 OMPI_MCA_btl_vader_single_copy_mechanism=none "
    "OMPI_MCA_rmaps_base_oversubscribe=1 OMPI_MCA_orte_base_help_aggregate=0 LP_NUM_THREADS=1\n";

class ranks_system : public InFolder {
   protected:
    [[nodiscard]] Ran run(const std::string& script) const {
        return run_shell(kMpirun + ("cd '" + folder_.string() + "'\n") + script, only(kLavapipe));
    }
    [[nodiscard]] static std::string search(const std::string& system, const std::string& flags) {
        return fmt::format("\"$YOLK\" system {} optimize --population 32 --sigma 0.3 --lr 0.2 --json {}", system,
                           flags);
    }
};

TEST_F(ranks_system, any_number_has_the_parameters_of_one) {
    for (const char* const system : {"xor", "rotation", "temperature"}) {
        SCOPED_TRACE(system);
        const Ran alone = run(search(system, "--generations 6"));
        ASSERT_EQ(alone.code, 0) << alone.err;
        EXPECT_FALSE(alone.last().contains("ranks"));
        for (const int count : {2, 3}) {
            if (count == 3 && std::string(system) != "rotation") continue;  // rank by rank in hyper's tests
            const Ran ran = run(fmt::format("mpirun -n {} ", count) +
                                search(system, "--generations 6 --out tuned.safetensors --log log.jsonl"));
            ASSERT_EQ(ran.code, 0) << ran.err;
            ASSERT_EQ(ran.lines().size(), 7U) << ran.out;
            const Json last = ran.last();
            EXPECT_EQ(last["state_hash"], alone.last()["state_hash"]);
            EXPECT_EQ(last["best_reward"], alone.last()["best_reward"]);
            EXPECT_EQ(last["metric_calls"], alone.last()["metric_calls"]);
            EXPECT_EQ(last["host_calls"], alone.last()["host_calls"]);
            EXPECT_EQ(last["ranks"].size(), static_cast<std::size_t>(count));
            EXPECT_GT(ran.lines()[0]["received_bytes"], 0);
            const Ran scored = run(fmt::format("\"$YOLK\" system {} evaluate --load tuned.safetensors --json", system));
            EXPECT_EQ(scored.last()["reward"], last["best_reward"]) << scored.err;
        }
    }
}

TEST_F(ranks_system, have_devices_of_different_vendors) {
    const Ran alone = run(search("rotation", "--generations 4"));
    const std::string rank = search("rotation", "--generations 4");
    const Ran ran =
        run(fmt::format("mpirun -n 1 {0} : -n 1 env VK_ICD_FILENAMES={1} VK_DRIVER_FILES={1} {0}", rank, kSwiftShader));
    ASSERT_EQ(ran.code, 0) << ran.err;
    EXPECT_EQ(ran.last()["state_hash"], alone.last()["state_hash"]);
}

/// A search that does not end by itself is killed; where its checkpoint stands, any number of ranks goes on.
TEST_F(ranks_system, one_that_is_killed_ends_all_and_any_number_goes_on) {
    const Ran killed =
        run("mpirun -n 2 " + search("xor", "--generations 10000000 --quiet --out tuned --checkpoint-every 5") +
            " & launcher=$!\n"
            "until [ -e tuned.checkpoint ]; do kill -0 $launcher || exit 3; sleep .05; done\n"
            "set -- $(cat /proc/$launcher/task/*/children)\n[ $# -eq 2 ] || exit 4\n"
            "kill -9 $2 || exit 5\nwait $launcher\n"
            // The launcher ends a little before the other rank, which holds the folder until it does.
            "for i in $(seq 600); do ls /proc/$1/task/*/fd | grep -q '^[0-9]' || exit 0; sleep .05; done\nexit 6");
    ASSERT_EQ(killed.code, 0) << killed.err;
    const Ran looked = run(search("xor", "--generations 1 --quiet --out tuned --resume"));
    ASSERT_EQ(looked.code, 0) << looked.err;
    const auto done = looked.last()["resumed_from"].get<std::uint64_t>();
    EXPECT_GE(done, 5U);
    EXPECT_EQ(done % 5, 0U);
    const std::string steps = fmt::format("--quiet --generations {}", done + 5);
    const Ran resumed = run("mpirun -n 3 " + search("xor", steps + " --out tuned --resume"));
    ASSERT_EQ(resumed.code, 0) << resumed.err;
    EXPECT_EQ(resumed.last()["resumed_from"], done);
    const Ran alone = run(search("xor", steps));
    ASSERT_EQ(alone.code, 0) << alone.err;
    EXPECT_EQ(resumed.last()["state_hash"], alone.last()["state_hash"]);
    EXPECT_EQ(resumed.last()["best_reward"], alone.last()["best_reward"]);
}

TEST_F(ranks_system, what_differs_or_does_not_fit_is_refused_once) {
    const auto expect_one_message = [](const Ran& ran, const std::string& message, int code = 2) {
        EXPECT_EQ(ran.code, code) << ran.err;
        EXPECT_EQ(ran.out, "");
        EXPECT_EQ(ran.err.find("error:"), ran.err.rfind("error:")) << ran.err;
        EXPECT_THAT(ran.err, HasSubstr(message));
    };
    const std::string rank = "\"$YOLK\" system xor optimize --json --quiet ";
    expect_one_message(run(fmt::format("mpirun -n 1 {0} --sigma .1 : -n 2 {0} --sigma .2", rank)),
                       "The sigma of rank 1 is 0.2; that of rank 0 is 0.1.");
    expect_one_message(run(fmt::format("mpirun -n 3 {} --population 4", rank)),
                       "There are 3 ranks, but a population of 4 has 2 pairs.");
    expect_one_message(run(fmt::format("mpirun -n 1 {0} : -n 1 {0} --device nothing", rank)),
                       "Rank 1: There is no device 'nothing'.");
    expect_one_message(run(fmt::format("mpirun -n 2 {} --load none.safetensors", rank)),
                       "Cannot open 'none.safetensors'", 1);
}

}  // namespace
}  // namespace yolk::cli
