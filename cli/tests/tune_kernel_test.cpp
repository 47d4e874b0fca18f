// SPDX-License-Identifier: Apache-2.0
// `yolk tune kernel` as a user runs it, on the example of docs/own_kernels.md.
#include <fmt/format.h>
#include <gmock/gmock.h>

#include <csignal>

#include "command.hpp"

namespace yolk::cli {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::SizeIs;

class tune_kernel : public InFolder, public ::testing::WithParamInterface<const char*> {
   protected:
    void SetUp() override {
        InFolder::SetUp();
        for (const char* name : {"my.comp", "reference.comp", "space.json"})
            write_text(folder_ / name, read_text(std::filesystem::path(YOLK_EXAMPLES_FOLDER) / "09_own_kernel" / name));
        variables_ = only(GetParam());
        variables_["YOLK_TABLE"] = (folder_ / "table.sqlite").string();
    }
    [[nodiscard]] std::vector<std::string> arguments(const std::vector<std::string>& more) const {
        std::vector<std::string> all{"tune", "kernel", file("my.comp"), "--space", file("space.json")};
        all.insert(all.end(), more.begin(), more.end());
        return all;
    }
    [[nodiscard]] Ran run(const std::vector<std::string>& more) const {
        return run_command(arguments(more), variables_);
    }
    [[nodiscard]] std::string file(const char* name) const { return (folder_ / name).string(); }
    void change(const char* pointer, const Json& value) const {
        Json space = Json::parse(read_text(folder_ / "space.json"));
        space[Json::json_pointer(pointer)] = value;
        write_text(folder_ / "space.json", space.dump());
    }
    std::map<std::string, std::string> variables_;
};
INSTANTIATE_TEST_SUITE_P(drivers, tune_kernel, ::testing::Values(kLavapipe, kSwiftShader), [](const auto& driver) {
    return std::string(driver.param).find("lvp") != std::string::npos ? "lavapipe" : "swiftshader";
});

TEST_P(tune_kernel, measures_once_and_later_runs_know) {
    const Ran first = run(
        {"--budget", "6", "--json", "--strategy", "random", "--out", file("best.json"), "--record", file("r.json")});
    ASSERT_EQ(first.code, 0) << first.err;
    const Json outcome = first.last();
    EXPECT_EQ(outcome["tune"], "kernel");
    EXPECT_EQ(outcome["measured"], 6);
    EXPECT_EQ(outcome["combinations"], 144);
    EXPECT_EQ(
        outcome["against_constraints"].get<int>() + outcome["beyond_device"].get<int>() + outcome["legal"].get<int>(),
        144);
    EXPECT_EQ(outcome["reference"], "the reference 'reference.comp'");
    EXPECT_GE(outcome["speed_up"], 0.98);
    EXPECT_EQ(first.lines().size(), 7U);  // one a measurement, and the outcome

    const Json best = Json::parse(read_text(folder_ / "best.json"));
    EXPECT_EQ(best["configuration"], outcome["configuration"]);
    ASSERT_THAT(best["specialization"], SizeIs(3));
    EXPECT_EQ(best["specialization"][0]["bits"], best["configuration"]["wx"]);
    EXPECT_EQ(best["specialization"][2]["type"], "bool");
    EXPECT_EQ(best["defines"]["COLUMNS"], std::to_string(best["configuration"]["columns"].get<int>()));
    EXPECT_EQ(best["sizes"]["width"], 256);

    const Ran second = run({"--budget", "6", "--json", "--out", file("again.json")});
    ASSERT_EQ(second.code, 0) << second.err;
    EXPECT_EQ(second.last()["measured"], 0);
    EXPECT_EQ(second.last()["configuration"], best["configuration"]);
    EXPECT_EQ(Json::parse(read_text(folder_ / "again.json"))["configuration"], best["configuration"]);
    EXPECT_EQ(run({"--budget", "6", "--again", "--json", "--quiet"}).last()["measured"], 6);

    const Ran replayed =
        run_command({"tune", "surface", file("r.json"), "--budget", "4", "--repeats", "2", "--json"}, variables_);
    ASSERT_EQ(replayed.code, 0) << replayed.err;
    EXPECT_EQ(replayed.last()["configurations"], 6);
}

TEST_P(tune_kernel, is_in_the_same_table) {
    ASSERT_EQ(run({"--budget", "3"}).code, 0);
    EXPECT_THAT(run_command({"tune", "table", "list"}, variables_).out,
                AllOf(HasSubstr("kernel my.comp"), HasSubstr("1 choices")));
    const Ran shown = run_command({"tune", "table", "show", "kernel my.comp", "--json"}, variables_);
    ASSERT_EQ(shown.code, 0) << shown.err;
    EXPECT_GE(shown.last()["samples"].size(), 3U);
    EXPECT_EQ(run_command({"tune", "table", "explain", "kernel my.comp"}, variables_).code, 2);
    EXPECT_EQ(run_command({"tune", "table", "pin", "kernel my.comp"}, variables_).code, 2);
    EXPECT_EQ(run_command({"tune", "table", "export", file("table.json")}, variables_).code, 0);
    EXPECT_THAT(run_command({"tune", "table", "forget", "kernel: my.comp"}, variables_).out,
                HasSubstr("1 shapes forgotten"));
    EXPECT_EQ(run_command({"tune", "table", "show", "kernel my.comp"}, variables_).code, 2);
    EXPECT_THAT(run_command({"tune", "table", "import", file("table.json")}, variables_).out,
                HasSubstr("1 of 1 choices"));
    EXPECT_EQ(run({"--json"}).last()["measured"], 0);
}

TEST_P(tune_kernel, a_changed_file_is_tuned_anew_and_an_interrupt_keeps_what_was_learned) {
    ASSERT_EQ(run({"--budget", "3"}).code, 0);
    write_text(folder_ / "my.comp", read_text(folder_ / "my.comp") + "// changed\n");
    const Ran ran =
        run_and_interrupt(arguments({"--budget", "100", "--json"}), variables_, {.number = SIGINT, .lines = 2});
    ASSERT_EQ(ran.code, 0) << ran.err;
    EXPECT_TRUE(ran.last()["interrupted"].get<bool>());
    EXPECT_GE(ran.last()["measured"], 2);
}

// Whatever ends a search: once the default is measured there is an answer.
TEST_P(tune_kernel, a_search_that_ends_early_has_the_fastest_so_far) {
    const Ran ran =
        run_and_interrupt(arguments({"--budget", "100", "--json"}), variables_, {.number = SIGTERM, .lines = 1});
    ASSERT_EQ(ran.code, 0) << ran.err;
    const Json outcome = ran.last();
    EXPECT_TRUE(outcome["interrupted"].get<bool>());
    EXPECT_TRUE(outcome["configuration"].is_object()) << ran.out;
    EXPECT_GT(outcome["tuned_milliseconds"], 0.0);
    if (outcome["measured"] < 5) {
        EXPECT_FALSE(outcome["decided"].get<bool>());
        EXPECT_LE(outcome["tuned_milliseconds"], outcome["heuristic_milliseconds"]);
        EXPECT_THAT(run_command({"tune", "table", "list"}, variables_).out, HasSubstr("0 choices"));
    }
}

// It stores all over 16 GB behind its buffer, which SwiftShader does and lavapipe drops.
TEST_P(tune_kernel, a_reference_that_ends_the_driver_is_an_error) {
    std::string text = read_text(folder_ / "reference.comp");
    const std::string store = "result[y";
    text.replace(text.find(store), store.size(), "for (uint k = 1; k < 4000; ++k) result[k * 1000000u + y");
    write_text(folder_ / "reference.comp", text);
    const Ran ran = run({"--budget", "3"});
    const bool is_lavapipe = std::string(GetParam()).find("lvp") != std::string::npos;
    EXPECT_EQ(ran.code, is_lavapipe ? 2 : 1) << ran.err;
    EXPECT_THAT(ran.err,
                HasSubstr(is_lavapipe ? "leaves all of 'result' unwritten"
                                      : "was ended by signal 11 (Segmentation fault), while running the reference"));
}

// It is not a configuration that hangs, and the search does not wait for it again. lavapipe leaves loops after some
// 65,000 passes, so that each of them is long.
TEST_P(tune_kernel, a_reference_that_hangs_is_an_error) {
    std::string text = read_text(folder_ / "reference.comp");
    const std::string store = "result[y";
    std::string body;
    for (int i = 0; i < 32; ++i) body += fmt::format("sum += weights[(k ^ j ^ {}u) % 25];\n", i);
    text.replace(text.find(store), store.size(),
                 "for (uint k = 0; k < 60000; ++k) for (uint j = 0; j < 60000; ++j) {\n" + body + "}\n" + store);
    write_text(folder_ / "reference.comp", text);
    const Ran ran = run({"--budget", "3", "--hang-seconds", "8"});
    EXPECT_EQ(ran.code, 1) << ran.err;
    EXPECT_THAT(ran.err, AllOf(HasSubstr("While checking The reference 'reference.comp'"),
                               HasSubstr("made no progress for 8 s and was given up"), Not(HasSubstr("quarantined"))));
    EXPECT_THAT(ran.err, HasSubstr("which is running the reference, for 5 s"));
}

TEST_P(tune_kernel, without_a_worker_it_says_so) {
    variables_["YOLK_WORKER"] = "/absent/yolk-worker";
    const Ran ran = run({"--budget", "3"});
    EXPECT_EQ(ran.code, 1);
    EXPECT_THAT(ran.err, AllOf(HasSubstr("/absent/yolk-worker"), HasSubstr("does not exist")));
}

TEST_P(tune_kernel, without_a_reference_it_says_so) {
    Json space = Json::parse(read_text(folder_ / "space.json"));
    space.erase("reference");
    write_text(folder_ / "space.json", space.dump());
    const Ran ran = run({"--budget", "2", "--json", "--quiet"});
    ASSERT_EQ(ran.code, 0) << ran.err;
    EXPECT_THAT(ran.err, HasSubstr("checked only for determinism and guard bands"));
    EXPECT_EQ(ran.last()["reference"], "");
}

TEST_P(tune_kernel, bad_input_is_told) {
    const auto refused = [this](const std::vector<std::string>& more, const char* part) {
        const Ran ran = run(more);
        EXPECT_EQ(ran.code, 2) << ran.out;
        EXPECT_THAT(ran.err, HasSubstr(part));
    };
    refused({"--job", "cartpole"}, "--job");
    refused({"--strategy", "luck"}, "luck");
    const Ran without = run_command({"tune", "kernel", file("my.comp")}, variables_);
    EXPECT_EQ(without.code, 2);
    EXPECT_THAT(without.err, HasSubstr("--space is required"));
    change("/parameters/columns/values", Json::array({"one", "two"}));
    change("/dispatch", Json::array({1}));
    change("/constraints", Json::array());
    change("/default", Json::object());
    refused({}, "my.comp:");  // the compiler's words with the file's lines
    change("/colour", 1);
    refused({}, "'colour'");
    // Nothing that compiles is right.
    write_text(folder_ / "space.json",
               read_text(std::filesystem::path(YOLK_EXAMPLES_FOLDER) / "09_own_kernel" / "space.json"));
    std::string wrong = read_text(folder_ / "my.comp");
    wrong.replace(wrong.find("float sum = 0.0"), 15, "float sum = 1.0");
    write_text(folder_ / "my.comp", wrong);
    refused({"--budget", "3"}, "No configuration");
}

}  // namespace
}  // namespace yolk::cli
