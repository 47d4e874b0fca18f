// SPDX-License-Identifier: Apache-2.0
// How a check is shared out, watched and interrupted.
#include <fmt/format.h>
#include <gmock/gmock.h>

#include <array>
#include <chrono>

#include "command.hpp"

namespace yolk::cli {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

std::map<std::string, std::string> both_drivers() { return only(std::string(kLavapipe) + ":" + kSwiftShader); }

TEST(check, parts_together_are_the_whole) {
    const std::vector<std::string> arguments{"check", "--kernel", "noise", "--kernel", "gather", "--all", "--json"};
    const Ran whole = run_command(arguments, only(kLavapipe));
    ASSERT_EQ(whole.code, 0) << whole.err;
    EXPECT_EQ(whole.last()["parts"], 1);
    EXPECT_EQ(whole.last()["interrupted"], false);
    for (std::size_t kernel = 0; kernel < 2; ++kernel) {
        const Json all = whole.last()["kernels"][kernel];
        EXPECT_EQ(all["runs"], all["runs_of_part"]);
        EXPECT_EQ(all["configurations"], all["configurations_of_all"]);
        EXPECT_NE(all["output_hash"], "");
    }
    std::array<std::uint64_t, 2> runs{};
    for (const char* part : {"1/3", "2/3", "3/3"}) {
        std::vector<std::string> of_part = arguments;
        of_part.insert(of_part.end(), {"--part", part});
        const Ran ran = run_command(of_part, only(kLavapipe));
        ASSERT_EQ(ran.code, 0) << ran.err;
        EXPECT_EQ(ran.last()["part"], part[0] - '0');
        EXPECT_EQ(ran.last()["parts"], 3);
        for (std::size_t kernel = 0; kernel < 2; ++kernel) {
            const Json json = ran.last()["kernels"][kernel];
            EXPECT_EQ(json["runs"], json["runs_of_part"]);
            EXPECT_EQ(json["configurations_of_all"], whole.last()["kernels"][kernel]["configurations_of_all"]);
            EXPECT_EQ(json["output_hash"], "");  // of all cases, or of none
            runs[kernel] += json["runs"].get<std::uint64_t>();
        }
    }
    for (std::size_t kernel = 0; kernel < 2; ++kernel) EXPECT_EQ(runs[kernel], whole.last()["kernels"][kernel]["runs"]);
}

TEST(check, says_how_many_configurations) {
    const Ran ran = run_command({"check", "--kernel", "noise", "--configurations", "2"}, only(kLavapipe));
    ASSERT_EQ(ran.code, 0) << ran.err;
    EXPECT_THAT(ran.out, HasSubstr("configurations"));
    EXPECT_THAT(ran.out, ::testing::ContainsRegex("noise +E.P +[0-9]+ +[23] of [23] "));
    EXPECT_EQ(ran.err, "");
}

// One device's outcome is out; the other's check ends, and tells what it has.
TEST(check, a_shape_is_a_kernel_and_its_fields) {
    const Ran ran = run_command({"check", "--shape", "softmax rows=7 columns=11 log=1", "--shape",
                                 "concat parts=3-0-5s", "--configurations", "2", "--json"},
                                only(kLavapipe));
    ASSERT_EQ(ran.code, 0) << ran.err;
    ASSERT_EQ(ran.last()["kernels"].size(), 2U);
    EXPECT_EQ(ran.last()["kernels"][0]["kernel"], "softmax");
    EXPECT_EQ(ran.last()["kernels"][0]["configurations_of_all"], 4);
    EXPECT_EQ(ran.last()["kernels"][1]["kernel"], "concat");
}

// lavapipe ends loops after 65,535 rounds, which is too few for the heuristic's lanes.
TEST(check, a_shape_that_the_heuristic_cannot_have_is_checked_with_what_plans_take) {
    const Ran ran =
        run_command({"check", "--shape", "reduce outer=1 columns=2097089 inner=1", "--json"}, only(kLavapipe));
    ASSERT_EQ(ran.code, 0) << ran.err << ran.out;
    EXPECT_GE(ran.last()["kernels"][0]["configurations"], 1);
    const Ran bench = run_command({"bench", "kernel", "--kernel", "reduce", "--shape",
                                   "outer=1 columns=2097089 inner=1", "--configurations", "1", "--quiet"},
                                  only(kLavapipe));
    ASSERT_EQ(bench.code, 0) << bench.err;
    EXPECT_THAT(bench.out, Not(HasSubstr("default cannot be run")));
}

// Neither driver of the tests has matrix units.
TEST(check, says_which_paths_it_could_not_take) {
    std::vector<std::string> arguments{"check", "--shape", "matmul m=8 n=8 k=8", "--configurations", "1"};
    const Ran text = run_command(arguments, only(kLavapipe));
    ASSERT_EQ(text.code, 0) << text.err;
    EXPECT_THAT(text.out, HasSubstr("matmul was not checked on the path cooperative-matrix, which is closed: it needs "
                                    "shaderFloat16, vulkanMemoryModelDeviceScope, and VK_KHR_cooperative_matrix or"));
    arguments.emplace_back("--json");
    const Ran json = run_command(arguments, only(kLavapipe));
    ASSERT_EQ(json.code, 0) << json.err;
    const Json closed = json.last()["kernels"][0]["closed_paths"];
    ASSERT_EQ(closed.size(), 2U) << closed;
    EXPECT_EQ(closed[0]["path"], "cooperative-matrix");
    EXPECT_EQ(closed[1]["path"], "cooperative-bf16");
}

TEST(check, lists_the_fields_of_every_kernel) {
    const Ran ran = run_command({"check", "--list", "--json"}, only("/nonexistent/icd.json"));
    ASSERT_EQ(ran.code, 0) << ran.err;
    const Json all = Json::parse(ran.out);
    ASSERT_GE(all.size(), 28U);
    EXPECT_EQ(all[0]["kernel"], "block_inverse");
    EXPECT_EQ(all[0]["fields"][0]["name"], "n");
    EXPECT_THAT(run_command({"check", "--list"}, only(kLavapipe)).out,
                HasSubstr("softmax members=1 rows columns log=0"));
}

// One answer, whichever command the text was given to.
TEST(check, mistakes_in_a_shape_have_one_answer) {
    const std::pair<const char*, const char*> kMistakes[]{
        {"sofmax rows=4 columns=4", "There is no kernel 'sofmax'; "},
        {"softmax rows=4 colums=4",
         "softmax has no field 'colums'; it has members, rows, columns, log. Did you mean columns?"},
        {"softmax rows=4 columns=4 rows=5", "gives rows twice, 4 and 5; give it once."},
        {"softmax rows=4 columns=4 log=2", "log of [softmax] is 2; it is 0 or 1."},
        {"softmax rows=4 columns=4 rule=layer", "softmax has no field 'rule'"}};
    for (const auto& [shape, answer] : kMistakes) {
        for (const std::vector<std::string>& command :
             {std::vector<std::string>{"check", "--shape"}, {"bench", "kernel", "--shape"}}) {
            std::vector<std::string> arguments = command;
            arguments.emplace_back(shape);
            const Ran ran = run_command(arguments, only(kLavapipe));
            EXPECT_EQ(ran.code, 2) << shape;
            EXPECT_THAT(ran.err, HasSubstr(answer));
        }
    }
}

TEST(check, an_interrupt_tells_what_was_checked) {
    const Ran ran = run_and_interrupt(
        {"check", "--kernel", "noise", "--kernel", "gather", "--kernel", "reduce", "--devices", "all", "--json"},
        both_drivers());
    EXPECT_EQ(ran.code, 1) << ran.err;
    ASSERT_EQ(ran.lines().size(), 2U) << ran.out;
    EXPECT_EQ(ran.lines()[0]["interrupted"], false);
    const Json json = ran.last();
    EXPECT_EQ(json["interrupted"], true);
    EXPECT_GE(json["failed"], 1);
    std::size_t finished = 0;
    for (const Json& kernel : json["kernels"]) {
        EXPECT_THAT(kernel["failures"], IsEmpty());
        EXPECT_LE(kernel["configurations"], kernel["configurations_of_all"]);
        if (kernel["runs"] == kernel["runs_of_part"]) ++finished;
        EXPECT_EQ(kernel["passed"], kernel["runs"] == kernel["runs_of_part"]);
    }
    EXPECT_LT(finished, 3U);
}

/// SIGTERM once the command has worked for so long by the processor's clock, however long that takes.
Ran ended_after(const std::string& arguments, const std::map<std::string, std::string>& variables, int hundredths) {
    return run_shell(fmt::format("\"$YOLK\" {} &\nchild=$!\n"
                                 "while ticks=$(cut -d' ' -f14 /proc/$child/stat) && [ $ticks -lt {} ]; do sleep .02; "
                                 "done\nkill -TERM $child; wait $child",
                                 arguments, hundredths),
                     variables);
}

// Every device has its object, the one that was not begun as well; and no interrupted check is good.
TEST(check, an_interrupt_before_a_device_is_begun_is_told_for_it) {
    const Ran ran = ended_after("check --all --kernel matmul --devices all --json", both_drivers(), 300);
    EXPECT_EQ(ran.code, 1) << ran.err;
    ASSERT_EQ(ran.lines().size(), 2U) << ran.out;
    for (const Json& json : ran.lines()) EXPECT_EQ(json["interrupted"], true);
}

TEST(check, a_run_that_is_interrupted_tells_what_was_compared) {
    const Ran ran = ended_after("check --run cartpole --generations 200000 --population 64 --max-steps 10 --json",
                                only(kLavapipe), 300);
    EXPECT_EQ(ran.code, 1) << ran.err;
    EXPECT_EQ(ran.last()["interrupted"], true);
    EXPECT_EQ(ran.last()["failed"], 0);
}

TEST(check, a_part_that_is_none_is_refused) {
    for (const char* part : {"0/2", "3/2", "2", "1/0"}) {
        const Ran ran = run_command({"check", "--kernel", "noise", "--part", part}, only(kLavapipe));
        EXPECT_EQ(ran.code, 2);
        EXPECT_EQ(ran.out, "");
        EXPECT_THAT(ran.err, HasSubstr("K/N"));
    }
}

}  // namespace
}  // namespace yolk::cli
