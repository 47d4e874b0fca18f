// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>

#include <chrono>
#include <csignal>
#include <cstdlib>
#include <random>

#include "command.hpp"

namespace yolk::cli {
namespace {

using ::testing::HasSubstr;
using ::testing::SizeIs;

int setting(const char* name, int unset) {
    const char* const text = std::getenv(name);
    return text == nullptr ? unset : std::atoi(text);
}

class tune_live : public InFolder, public ::testing::WithParamInterface<const char*> {
   protected:
    void SetUp() override {
        InFolder::SetUp();
        write_text(folder_ / "shapes", "# two of them\n\nreduce outer=256 columns=64\noptimizer elements=450\n");
        variables_ = only(GetParam());
        variables_["YOLK_TABLE"] = (folder_ / "table.sqlite").string();
    }
    [[nodiscard]] Ran run(std::vector<std::string> arguments) const {
        arguments.insert(arguments.begin(), "tune");
        return run_command(arguments, variables_);
    }
    [[nodiscard]] std::vector<std::string> shapes(std::vector<std::string> more) const {
        more.insert(more.begin(), {"--shapes", (folder_ / "shapes").string()});
        return more;
    }
    std::map<std::string, std::string> variables_;
};
INSTANTIATE_TEST_SUITE_P(drivers, tune_live, ::testing::Values(kLavapipe, kSwiftShader), [](const auto& driver) {
    return std::string(driver.param).find("lvp") != std::string::npos ? "lavapipe" : "swiftshader";
});

TEST_P(tune_live, measures_once_and_later_runs_know) {
    const Ran first = run(shapes({"--budget", "6", "--json"}));
    ASSERT_EQ(first.code, 0) << first.err;
    const Json outcome = first.last();
    EXPECT_EQ(outcome["tune"], "live");
    EXPECT_EQ(outcome["measured"], 12);
    ASSERT_THAT(outcome["shapes"], SizeIs(2));
    EXPECT_THAT(outcome["shapes"][0]["shape"].get<std::string>(), HasSubstr("reduce"));
    EXPECT_GE(outcome["shapes"][0]["speed_up"], 0.98);
    EXPECT_EQ(first.lines().size(), 13U);  // one a measurement, and the outcome

    const Ran second = run(shapes({"--budget", "6"}));
    ASSERT_EQ(second.code, 0) << second.err;
    EXPECT_THAT(second.out, HasSubstr("0 evaluations in"));
    const Ran again = run(shapes({"--budget", "6", "--again", "--json", "--quiet"}));
    EXPECT_EQ(again.last()["measured"], 12);

    const Ran explained = run({"--explain", "reduce outer=256 columns=64", "--json"});
    ASSERT_EQ(explained.code, 0) << explained.err;
    EXPECT_EQ(explained.last()["answer"], "exact");
    EXPECT_EQ(run({"--explain", "reduce outer=512 columns=64", "--json"}).last()["answer"], "nearest shape");
    EXPECT_EQ(run({"--explain", "reduce outer=256 columns=64 operation=2", "--json"}).last()["answer"], "heuristic");
    const Ran untuned = run({"--explain", "matmul m=8 n=8 k=8"});
    EXPECT_THAT(untuned.out, HasSubstr("heuristic"));
    EXPECT_THAT(run({"--list"}).out, HasSubstr("2 choices in"));
    EXPECT_THAT(run({"--show", "optimizer elements=450"}).out, HasSubstr("samples of optimizer"));
}

TEST_P(tune_live, what_it_knows_can_be_carried_pinned_and_forgotten) {
    ASSERT_EQ(run(shapes({"--budget", "3"})).code, 0);
    const std::string file = (folder_ / "export.json").string();
    ASSERT_EQ(run({"--export", file}).code, 0);
    ASSERT_EQ(run({"--forget", "all"}).code, 0);
    EXPECT_THAT(run({"--list"}).out, HasSubstr("0 choices in"));
    EXPECT_THAT(run({"--import", file}).out, HasSubstr("2 of 2 choices taken"));
    EXPECT_THAT(run({"--forget", "optimizer: 450"}).out, HasSubstr("1 shapes forgotten"));
    const Ran pinned = run({"--pin", "optimizer elements=450", "--configuration", "workgroup_size=4"});
    ASSERT_EQ(pinned.code, 0) << pinned.err;
    EXPECT_THAT(run({"--list"}).out, HasSubstr("pinned"));
    ASSERT_EQ(run(shapes({"--budget", "4", "--again"})).code, 0);
    EXPECT_THAT(run({"--explain", "optimizer elements=450"}).out, HasSubstr("pinned -> workgroup_size 4"));
    EXPECT_EQ(run({"--pin", "optimizer elements=450", "--configuration", "workgroup_size=3"}).code, 2);
    EXPECT_EQ(run({"--import", (folder_ / "shapes").string()}).code, 2);
}

TEST_P(tune_live, recordings_can_be_replayed) {
    write_text(folder_ / "shapes", "reduce outer=256 columns=64\n");
    for (const char* name : {"surface.json", "surface.t4.json"}) {
        const std::string file = (folder_ / name).string();
        ASSERT_EQ(run(shapes({"--budget", "13", "--record", file})).code, 0);
        const Ran replayed =
            run({"--surface", file, "--strategy", "random", "--budget", "13", "--repeats", "3", "--json"});
        ASSERT_EQ(replayed.code, 0) << replayed.err;
        EXPECT_EQ(replayed.last()["configurations"], 13);
        EXPECT_EQ(replayed.last()["valid"], 13);
    }
}

TEST_P(tune_live, an_interrupt_keeps_what_was_learned) {
    std::vector<std::string> arguments = shapes({"--budget", "100", "--json", "--again"});
    arguments.insert(arguments.begin(), "tune");
    const Ran ran = run_and_interrupt(arguments, variables_, {.number = SIGINT, .lines = 3});
    ASSERT_EQ(ran.code, 0) << ran.err;
    EXPECT_TRUE(ran.last().contains("shapes")) << ran.out;
    const Ran shown = run({"--show", "reduce outer=256 columns=64", "--json"});
    EXPECT_GE(shown.last()["samples"].size(), 3U);
}

// $YOLK_TEST_KILLS kills, anywhere: the table stays whole, and the next run goes on.
TEST_P(tune_live, kill_9_leaves_a_table_that_the_next_run_goes_on_with) {
    std::mt19937 random(static_cast<std::uint32_t>(setting("YOLK_TEST_SEED", 1)));
    std::vector<std::string> arguments = shapes({"--budget", "13", "--again"});
    arguments.insert(arguments.begin(), "tune");
    for (int kill = 0; kill < setting("YOLK_TEST_KILLS", 2); ++kill) {
        const std::chrono::milliseconds after(random() % 4000);
        static_cast<void>(run_and_kill(arguments, variables_, after));
        const Ran listed = run({"--list"});
        EXPECT_EQ(listed.code, 0) << listed.err;
        EXPECT_EQ(listed.err.find("renamed"), std::string::npos) << listed.err;
    }
    const Ran whole = run(shapes({"--budget", "5", "--again", "--json"}));
    EXPECT_EQ(whole.code, 0) << whole.err;
    EXPECT_THAT(whole.last()["shapes"], SizeIs(2));
}

TEST_P(tune_live, bad_input_is_told) {
    const auto refused = [this](std::vector<std::string> arguments, const char* part) {
        const Ran ran = run(std::move(arguments));
        EXPECT_EQ(ran.code, 2) << ran.out;
        EXPECT_THAT(ran.err, HasSubstr(part));
    };
    refused({"--job", "chess"}, "There is no job 'chess'");
    refused({"--budget", "0"}, "--budget is 0");
    refused({"--seconds", "-1"}, "--seconds is -1");
    refused({"--explain", "matmul m=8 n=8"}, "needs k");
    refused({"--explain", "matmul m=8 n=8 k=8 z=1"}, "has 'z'");
    refused({"--explain", "matmul m=8 n=x"}, "'n=x'");
    refused({"--explain", "chess"}, "family 'chess'");
    refused({"--shapes", (folder_ / "shapes").string(), "--strategy", "luck"}, "luck");
}

}  // namespace
}  // namespace yolk::cli
