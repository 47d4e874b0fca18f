// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>

#include <chrono>
#include <cmath>
#include <csignal>
#include <cstdlib>
#include <random>

#include "command.hpp"
#include "yolk/internal/core/file.hpp"

namespace yolk::cli {
namespace {

using ::testing::Contains;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::SizeIs;

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
    /// For tests to which a second shape adds nothing but time.
    void keep_one_shape() const { write_text(folder_ / "shapes", "optimizer elements=450\n"); }
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
    const auto time = [&outcome](std::size_t shape, const char* of) {
        return outcome["shapes"][shape][of].get<double>();
    };
    const double one = time(0, "heuristic_milliseconds") / time(0, "tuned_milliseconds");
    const double other = time(1, "heuristic_milliseconds") / time(1, "tuned_milliseconds");
    EXPECT_NEAR(outcome["speed_up"], std::sqrt(one * other), 1e-9);
    EXPECT_NEAR(outcome["median_speed_up"], (one + other) / 2, 1e-9);
    EXPECT_NEAR(outcome["summed_speed_up"],
                (time(0, "heuristic_milliseconds") + time(1, "heuristic_milliseconds")) /
                    (time(0, "tuned_milliseconds") + time(1, "tuned_milliseconds")),
                1e-9);
    EXPECT_EQ(outcome["compared"], 2);
    EXPECT_EQ(outcome["searched"], 2);
    EXPECT_EQ(outcome["found"], outcome["shapes"][0]["found"].get<int>() + outcome["shapes"][1]["found"].get<int>());

    const Ran second = run(shapes({"--budget", "6"}));
    ASSERT_EQ(second.code, 0) << second.err;
    EXPECT_THAT(second.out, HasSubstr("0 evaluations in"));
    EXPECT_THAT(second.out, HasSubstr("in the geometric mean of 2 shapes"));
    EXPECT_THAT(second.out, Not(HasSubstr("the strategy found")));
    std::vector<std::string> by_name = shapes({"--budget", "6", "--again", "--json", "--quiet"});
    by_name.insert(by_name.begin(), "device");
    const Ran again = run(by_name);
    EXPECT_EQ(again.last()["measured"], 12);

    const Ran explained = run({"table", "explain", "reduce outer=256 columns=64", "--json"});
    ASSERT_EQ(explained.code, 0) << explained.err;
    EXPECT_EQ(explained.last()["answer"], "exact");
    EXPECT_EQ(run({"table", "explain", "reduce outer=512 columns=64", "--json"}).last()["answer"], "nearest shape");
    EXPECT_EQ(run({"table", "explain", "reduce outer=256 columns=64 operation=2", "--json"}).last()["answer"],
              "heuristic");
    const Ran untuned = run({"table", "explain", "matmul m=8 n=8 k=8"});
    for (const char* source : {"exact", "other driver", "nearest shape", "same architecture", "portfolio", "heuristic"})
        EXPECT_THAT(untuned.out, HasSubstr(source));
    EXPECT_THAT(run({"table", "list"}).out, HasSubstr("2 choices in"));
    EXPECT_THAT(run({"table", "show", "optimizer elements=450"}).out, HasSubstr("samples of optimizer"));
}

TEST_P(tune_live, what_it_knows_can_be_carried_pinned_and_forgotten) {
    keep_one_shape();
    ASSERT_EQ(run(shapes({"--budget", "3"})).code, 0);
    const std::string file = (folder_ / "export.json").string();
    ASSERT_EQ(run({"table", "export", file}).code, 0);
    ASSERT_EQ(run({"table", "forget", "all"}).code, 0);
    EXPECT_THAT(run({"table", "list"}).out, HasSubstr("0 choices in"));
    EXPECT_THAT(run({"table", "import", file}).out, HasSubstr("1 of 1 choices taken"));
    EXPECT_THAT(run({"table", "forget", "optimizer: 450"}).out, HasSubstr("1 shapes forgotten"));
    const Ran pinned = run({"table", "pin", "optimizer elements=450", "--configuration", "workgroup_size=4"});
    ASSERT_EQ(pinned.code, 0) << pinned.err;
    EXPECT_THAT(run({"table", "list"}).out, HasSubstr("pinned"));
    ASSERT_EQ(run(shapes({"--budget", "4", "--again"})).code, 0);
    EXPECT_THAT(run({"table", "explain", "optimizer elements=450"}).out, HasSubstr("pinned -> workgroup_size 4"));
    EXPECT_EQ(run({"table", "pin", "optimizer elements=450", "--configuration", "workgroup_size=3"}).code, 2);
    EXPECT_EQ(run({"table", "import", (folder_ / "shapes").string()}).code, 2);
}

TEST_P(tune_live, recordings_can_be_replayed) {
    write_text(folder_ / "shapes", "reduce outer=256 columns=64\n");
    for (const char* name : {"surface.json", "surface.t4.json"}) {
        const std::string file = (folder_ / name).string();
        ASSERT_EQ(run(shapes({"--budget", "13", "--record", file})).code, 0);
        const Ran replayed =
            run({"surface", file, "--strategy", "random", "--budget", "13", "--repeats", "3", "--json"});
        ASSERT_EQ(replayed.code, 0) << replayed.err;
        EXPECT_EQ(replayed.last()["configurations"], 13);
        EXPECT_EQ(replayed.last()["valid"], 13);
    }
}

TEST_P(tune_live, the_report_shows_what_the_table_holds) {
    const std::string page = (folder_ / "report.html").string();
    EXPECT_EQ(run({"report", page}).code, 2);  // no table yet
    ASSERT_EQ(run(shapes({"--budget", "6"})).code, 0);
    const Ran reported = run({"report", page});
    ASSERT_EQ(reported.code, 0) << reported.err;
    EXPECT_THAT(reported.out, HasSubstr("2 shapes with 12 measured configurations"));
    const std::string first = read_text(page);
    for (const char* part : {"reduce [256, 64]", "optimizer [450]", "of 46 legal", "Cost by knob", "rows_per_workgroup",
                             "are not replayed"})
        EXPECT_THAT(first, HasSubstr(part));
    EXPECT_EQ(first.find("<script"), std::string::npos);
    ASSERT_EQ(run({"report", page, "--json"}).last()["shapes"], 2);
    EXPECT_EQ(read_text(page), first);
    EXPECT_EQ(run({"report", page, "--strategy", "luck"}).code, 2);
    EXPECT_EQ(run({"report", (folder_ / "missing" / "report.html").string()}).code, 1);
}

TEST_P(tune_live, shapes_of_the_last_run_can_be_tuned) {
    const Ran none = run({"--job", "last"});
    EXPECT_EQ(none.code, 2);
    EXPECT_THAT(none.err, HasSubstr("No run is remembered"));
    const Ran trained = run_command({"train", "cartpole", "--population", "64", "--generations", "1", "--quiet",
                                     "--out", (folder_ / "out").string()},
                                    variables_);
    ASSERT_EQ(trained.code, 0) << trained.err;
    const Ran tuned = run({"--job", "last", "--budget", "2", "--json"});
    ASSERT_EQ(tuned.code, 0) << tuned.err;
    const Json outcome = tuned.last();
    std::vector<std::string> families;
    for (const Json& shape : outcome["shapes"]) families.push_back(shape["family"]);
    for (const char* family : {"rollout", "fitness", "es_update"}) EXPECT_THAT(families, Contains(family));
    for (const Json& skipped : outcome["skipped"]) EXPECT_FALSE(skipped["reason"].get<std::string>().empty());
    // Tuning itself is no run to remember, and the next one finds everything known.
    EXPECT_EQ(run({"--job", "last", "--budget", "2", "--json"}).last()["measured"], 0);

    write_text(variables_["YOLK_TABLE"] + ".last_run.json",
               R"({"yolk_last_run":1,"shapes":[{"family":"rollout","variant":"chess, own","extents":[4,8,2,64,1,1]},
                   {"family":"softmax","variant":"","extents":[3,977]},
                   {"family":"softmax","variant":"f32, logarithm","extents":[3,977]},
                   {"family":"optimizer","variant":"rule=adam","extents":[450]}]})");
    const Ran some = run({"--job", "last", "--budget", "2"});
    ASSERT_EQ(some.code, 0) << some.err;
    EXPECT_THAT(some.out, HasSubstr("\nsoftmax [3, 977]"));
    EXPECT_THAT(some.out, HasSubstr("\noptimizer rule=adam [450]"));
    EXPECT_THAT(some.out, HasSubstr("\nskipped softmax f32, logarithm"));
    EXPECT_THAT(some.out, HasSubstr("\nskipped rollout chess, own"));
    write_text(variables_["YOLK_TABLE"] + ".last_run.json", R"({"yolk_last_run":1,"shapes":[{"family":3}]})");
    EXPECT_EQ(run({"--job", "last"}).code, 2);
}

TEST_P(tune_live, the_time_is_a_limit) {
    // Of the updates one takes long to prove; all together would take minutes.
    write_text(folder_ / "shapes",
               "reduce outer=256 columns=64\nes_update elements=9216 population=1024\nmatmul m=160 n=160 k=160\n"
               "es_update elements=8192 population=1024 rows=64\nmatmul m=192 n=160 k=160\n");
    int measured = 0;
    for (const int limit : {4, 12, 36}) {  // on a busy machine the first may pass without a measurement
        const auto begun = std::chrono::steady_clock::now();
        const Ran ran = run(shapes({"--budget", "1000", "--seconds", std::to_string(limit), "--json", "--quiet"}));
        const double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - begun).count();
        ASSERT_EQ(ran.code, 0) << ran.err;
        // With room for a machine that does other work as well; all of it would take minutes even so.
        EXPECT_LT(seconds, limit + 40.0);
        EXPECT_LT(ran.last()["seconds"], limit + 40.0);
        EXPECT_THAT(ran.last()["shapes"], SizeIs(5));
        measured = ran.last()["measured"];
        if (measured > 0) break;
    }
    EXPECT_GT(measured, 0);
}

// Another processor under the same driver: its choices are taken where this one has none.
TEST_P(tune_live, a_sister_answers) {
    const std::string recorded = (folder_ / "surface.json").string();
    write_text(folder_ / "shapes", "reduce outer=256 columns=64\n");
    ASSERT_EQ(run(shapes({"--budget", "6", "--record", recorded})).code, 0);
    const std::string file = (folder_ / "export.json").string();
    ASSERT_EQ(run({"table", "export", file}).code, 0);
    const std::vector<std::byte> bytes = read_file(file, 1U << 20U).value();
    Json exported = Json::parse(reinterpret_cast<const char*>(bytes.data()),
                                reinterpret_cast<const char*>(bytes.data()) + bytes.size());
    for (Json& choice : exported["choices"])
        choice["device"] = choice["device"].get<std::string>() + " of another make";
    write_text(file, exported.dump());
    ASSERT_EQ(run({"table", "forget", "all"}).code, 0);
    EXPECT_EQ(run({"table", "explain", "reduce outer=256 columns=64", "--json"}).last()["answer"], "heuristic");
    ASSERT_EQ(run({"table", "import", file}).code, 0);
    const Ran sister = run({"table", "explain", "reduce outer=256 columns=64", "--json"});
    EXPECT_EQ(sister.last()["answer"], "same architecture") << sister.out;
}

TEST_P(tune_live, an_interrupt_keeps_what_was_learned) {
    keep_one_shape();
    std::vector<std::string> arguments = shapes({"--budget", "100", "--json", "--again"});
    arguments.insert(arguments.begin(), "tune");
    const Ran ran = run_and_interrupt(arguments, variables_, {.number = SIGINT, .lines = 3});
    ASSERT_EQ(ran.code, 0) << ran.err;
    EXPECT_TRUE(ran.last().contains("shapes")) << ran.out;
    const Ran shown = run({"table", "show", "optimizer elements=450", "--json"});
    EXPECT_GE(shown.last()["samples"].size(), 3U);
}

// $YOLK_TEST_KILLS kills, anywhere: the table stays whole, and the next run goes on.
TEST_P(tune_live, kill_9_leaves_a_table_that_the_next_run_goes_on_with) {
    keep_one_shape();
    std::mt19937 random(static_cast<std::uint32_t>(setting("YOLK_TEST_SEED", 1)));
    std::vector<std::string> arguments = shapes({"--budget", "13", "--again"});
    arguments.insert(arguments.begin(), "tune");
    for (int kill = 0; kill < setting("YOLK_TEST_KILLS", 2); ++kill) {
        const std::chrono::milliseconds after(random() % 4000);
        static_cast<void>(run_and_kill(arguments, variables_, after));
        const Ran listed = run({"table", "list"});
        EXPECT_EQ(listed.code, 0) << listed.err;
        EXPECT_EQ(listed.err.find("renamed"), std::string::npos) << listed.err;
    }
    const Ran whole = run(shapes({"--budget", "5", "--again", "--json"}));
    EXPECT_EQ(whole.code, 0) << whole.err;
    EXPECT_THAT(whole.last()["shapes"], SizeIs(1));
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
    refused({"--seconds", "0"}, "--seconds is 0");
    refused({"table", "explain", "matmul", "m=8", "n=8"}, "needs k");
    refused({"table", "explain", "matmul m=8 n=8 k=8 z=1"}, "matmul has no field 'z'");
    refused({"table", "explain", "matmul m=8 n=x"}, "n=x");
    refused({"table", "explain", "chess"}, "no kernel 'chess'");
    refused({"--shapes", (folder_ / "shapes").string(), "--strategy", "luck"}, "luck");
}

}  // namespace
}  // namespace yolk::cli
