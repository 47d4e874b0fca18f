// SPDX-License-Identifier: Apache-2.0
// `yolk plot` on logs that the command wrote itself, and on files that are something else.
#include <gmock/gmock.h>

#include <filesystem>

#include "command.hpp"

namespace yolk::cli {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::StartsWith;

std::size_t count_of(const std::string& text, const std::string& part) {
    std::size_t count = 0;
    for (std::size_t at = text.find(part); at != std::string::npos; at = text.find(part, at + 1)) ++count;
    return count;
}

constexpr const char* kSettings = R"({"settings":{"task":"cartpole","population":64}})"
                                  "\n";

std::string generation_line(int generation, const std::string& mean, double seconds = 1.0) {
    return Json{{"generation", generation},
                {"mean_return", Json::parse(mean)},
                {"policy_return", 7.5},
                {"evaluations", 100},
                {"seconds", seconds}}
               .dump() +
           "\n";
}

class plot : public InFolder {
   protected:
    [[nodiscard]] std::string picture() const { return (folder_ / "curve.svg").string(); }
    [[nodiscard]] std::string log(const std::string& name, const std::string& text) const {
        write_text(folder_ / name, text);
        return (folder_ / name).string();
    }
    [[nodiscard]] std::string trained(const std::string& name, const std::string& seed) const {
        const auto out = folder_ / name;
        const Ran ran = run_command({"train", "cartpole", "--population", "16", "--generations", "3", "--keep-going",
                                     "--seed", seed, "--json", "--out", out.string()},
                                    only(kLavapipe));
        EXPECT_EQ(ran.code, 0) << ran.err;
        return (out / "metrics.jsonl").string();
    }
    /// One error, and no picture.
    void refuses(std::vector<std::string> arguments, int code, const std::string& part) const {
        arguments.insert(arguments.begin(), {"plot", "--out", picture()});
        const Ran ran = run_command(arguments);
        EXPECT_EQ(ran.code, code) << ran.err;
        EXPECT_EQ(ran.out, "");
        EXPECT_THAT(ran.err, StartsWith("yolk: error: "));
        EXPECT_THAT(ran.err, HasSubstr(part));
        EXPECT_FALSE(std::filesystem::exists(picture()));
    }
};

TEST_F(plot, runs_of_train_share_a_picture) {
    const std::string first = trained("seed1", "1");
    const std::string second = trained("seed2", "2");
    const Ran ran = run_command({"plot", first, second, "--out", picture(), "--json"});
    ASSERT_EQ(ran.code, 0) << ran.err;
    const Json json = ran.last();
    EXPECT_EQ(json.value("plot", ""), picture());
    ASSERT_EQ(json["files"].size(), 2U);
    EXPECT_EQ(json["files"][0].value("generations", 0), 3);
    EXPECT_EQ(json["files"][0].value("name", ""), "cartpole");
    EXPECT_EQ(json["files"][0].value("population", 0), 16);
    EXPECT_GT(json["files"][0].value("last_policy", 0.0), 0.0);
    const std::string svg = read_text(picture());
    EXPECT_THAT(svg, StartsWith("<svg xmlns="));
    EXPECT_THAT(svg, HasSubstr(">generations</text>"));
    EXPECT_THAT(svg, HasSubstr("cartpole, population 16"));
    EXPECT_THAT(svg, HasSubstr("prefers-color-scheme:dark"));
    EXPECT_EQ(count_of(svg, "<path class=\"mean c"), 2U);
    for (const char* name : {"seed1", "seed2"}) EXPECT_EQ(count_of(svg, std::string("/") + name + "</text>"), 1U);
    EXPECT_EQ(std::distance(std::filesystem::directory_iterator(folder_), {}), 3) << "only the picture is new";

    const Ran again = run_command({"plot", first, "--out", picture(), "--x", "evaluations"});
    EXPECT_EQ(again.code, 0) << again.err;
    EXPECT_EQ(again.out, "1 run of cartpole in " + picture() + "\n");
    EXPECT_THAT(read_text(picture()), HasSubstr(">evaluations</text>"));
}

TEST_F(plot, the_log_of_a_system) {
    const std::string log = (folder_ / "xor.jsonl").string();
    ASSERT_EQ(
        run_command({"system", "xor", "optimize", "--generations", "3", "--population", "8", "--quiet", "--log", log},
                    only(kLavapipe))
            .code,
        0);
    const Ran ran = run_command({"plot", log, "--out", picture(), "--x", "seconds", "--json"});
    ASSERT_EQ(ran.code, 0) << ran.err;
    EXPECT_EQ(ran.last()["files"][0].value("kind", ""), "system");
    EXPECT_EQ(ran.last()["files"][0].value("points", 0), 3);
    EXPECT_THAT(read_text(picture()), HasSubstr(">reward</text>"));
    EXPECT_THAT(read_text(picture()), HasSubstr(">seconds</text>"));
}

/// Prompts and numbers by turns, as a system's optimize logs them.
std::string rounds_log() {
    std::string text = R"({"system":"asks","prompts":"gepa","rounds":2,"numbers":true})"
                       "\n";
    for (int round = 0; round < 2; ++round) {
        text += R"({"search":"gepa","components":["prompt"],"train":4,"validation":2,"seed":1,"perfect_score":1.0})"
                "\n"
                R"({"iteration":0,"kind":"start","accepted":true,"candidate":0,"mean":0.5,"scores":[1.0,0.0],)"
                R"("texts":{"prompt":"Say <it>."},"front":1,"best":0,"best_mean":0.5,"metric_calls":2,"model_calls":2,)"
                R"("prompt_tokens":8,"completion_tokens":2,"cost":0.0})"
                "\n"
                R"({"stopped_by":"budget","best":0,"cost":{}})"
                "\n"
                R"({"system":"asks","optimizer":"eggroll","population":16})"
                "\n";
        for (int step = 0; step < 3; ++step) {
            text +=
                Json{{"generation", step}, {"mean", 1.0}, {"unperturbed", 2.0}, {"metric_calls", 17}, {"seconds", 0.5}}
                    .dump();
            text += "\n";
        }
    }
    return text;
}

TEST_F(plot, prompts_have_a_page_and_numbers_a_curve) {
    const std::string file = log("rounds.jsonl", rounds_log());
    const Ran curve = run_command({"plot", file, "--out", picture(), "--json"});
    ASSERT_EQ(curve.code, 0) << curve.err;
    EXPECT_EQ(curve.last()["files"][0].value("points", 0), 6);  // the steps of both rounds, one behind the other
    EXPECT_EQ(curve.last()["files"][0].value("population", 0), 16);

    const std::string page = (folder_ / "page.html").string();
    const Ran ran = run_command({"plot", file, "--out", page, "--json"});
    ASSERT_EQ(ran.code, 0) << ran.err;
    EXPECT_EQ(ran.last().value("searches", 0), 2);
    EXPECT_EQ(ran.last().value("prompts", 0), 2);
    EXPECT_THAT(read_text(page), HasSubstr("Say &lt;it&gt;."));

    EXPECT_EQ(ran.last().value("runs", 0), 1) << "the numbers of the same log";
    EXPECT_THAT(read_text(page), HasSubstr("data-generations=\"6\""));
    const Ran two = run_command({"plot", file, file, "--out", page});
    EXPECT_EQ(two.code, 2);
    EXPECT_THAT(two.err, HasSubstr("given twice"));
}

TEST_F(plot, any_log_has_a_page) {
    const std::string page = (folder_ / "page.html").string();
    const std::string file = log("a.jsonl", kSettings + generation_line(0, "1"));
    const Ran ran = run_command({"plot", file, "--out", page, "--json"});
    ASSERT_EQ(ran.code, 0) << ran.err;
    EXPECT_EQ(ran.last()["tasks"], Json::array({"cartpole"}));
    const std::string other = (folder_ / "other.html").string();
    ASSERT_EQ(run_command({"report", file, "--out", other}).code, 0);
    EXPECT_EQ(read_text(page), read_text(other));
    const Ran axis = run_command({"plot", file, "--out", page, "--x", "seconds"});
    EXPECT_EQ(axis.code, 2);
    EXPECT_THAT(axis.err, HasSubstr("all three axes"));
}

TEST_F(plot, a_long_run_keeps_its_peaks) {
    std::string text = kSettings;
    for (int g = 0; g < 20'000; ++g) text += generation_line(g, g == 12'345 ? "900" : "1");
    const Ran ran = run_command({"plot", log("long.jsonl", text), "--out", picture()});
    ASSERT_EQ(ran.code, 0) << ran.err;
    const std::string svg = read_text(picture());
    EXPECT_LT(svg.size(), 60'000U);
    // The axis ends 4 % above 900; the frame is 324 pixels high from 16 downwards: the peak is drawn at 28.0.
    EXPECT_THAT(svg, HasSubstr(" 28.0L"));
}

TEST_F(plot, a_resumed_run_goes_on_in_seconds) {
    const std::string text = std::string(kSettings) + generation_line(0, "1", 4.0) + generation_line(1, "2", 8.0) +
                             generation_line(2, "3", 2.0);
    const Ran ran = run_command({"plot", log("resumed.jsonl", text), "--out", picture(), "--x", "seconds"});
    ASSERT_EQ(ran.code, 0) << ran.err;
    EXPECT_THAT(read_text(picture()), HasSubstr(">10</text>")) << "8 and 2 seconds";
}

TEST_F(plot, a_score_that_was_not_finite_is_a_gap) {
    const std::string text =
        std::string(kSettings) + generation_line(0, "1") + generation_line(1, "null") + generation_line(2, "3");
    const Ran ran = run_command({"plot", log("gap.jsonl", text), "--out", picture()});
    ASSERT_EQ(ran.code, 0) << ran.err;
    const std::string svg = read_text(picture());
    EXPECT_THAT(svg, Not(HasSubstr("nan")));
    const std::size_t at = svg.find("<path class=\"mean c0\" d=\"");
    ASSERT_NE(at, std::string::npos);
    const std::string path = svg.substr(at + 25, svg.find('"', at + 25) - at - 25);
    EXPECT_EQ(count_of(path, "M"), 2U) << path;
}

TEST_F(plot, a_line_being_written_is_left_out) {
    const std::string whole = std::string(kSettings) + generation_line(0, "1") + generation_line(1, "2");
    const std::string torn = whole + R"({"generation":2,"mean_re)";
    const Ran ran = run_command({"plot", log("torn.jsonl", torn), "--out", picture(), "--json"});
    ASSERT_EQ(ran.code, 0) << ran.err;
    EXPECT_EQ(ran.last()["files"][0].value("points", 0), 2);
    EXPECT_THAT(ran.err, HasSubstr("line 4 is incomplete"));
}

TEST_F(plot, damaged_files_name_the_line) {
    const std::string begin = std::string(kSettings) + generation_line(0, "1");
    refuses({log("a.jsonl", begin + "{\"generation\":1,\n" + generation_line(2, "1"))}, 2, "line 3 is not valid JSON");
    refuses({log("b.jsonl", begin + "{\"generation\":1}\n")}, 2, "line 3 has no evaluations");
    refuses({log("c.jsonl", begin + generation_line(0, "1"))}, 2, "line 3 is of generation 0");
    refuses({log("d.jsonl", begin + generation_line(1, "\"x\""))}, 2, "line 3 has no mean_return");
    refuses({log("e.jsonl", begin + "{\"step\":1}\n")}, 2, "line 3 has no generation");
}

TEST_F(plot, files_that_are_something_else) {
    refuses({(folder_ / "missing.jsonl").string()}, 1, "missing.jsonl");
    refuses({folder_.string()}, 2, "has no metrics.jsonl");
    refuses({log("empty.jsonl", "")}, 2, "is empty");
    refuses({log("notes.txt", "some notes\nof mine\n")}, 2, "is neither");
    refuses({log("list.json", "[1]\n")}, 2, "is neither");
    refuses({log("deep.json", std::string(100'000, '[') + "\n")}, 2, "is neither");
    refuses({log("torn.jsonl", R"({"settings":{"ta)")}, 2, "is neither");
    refuses({log("settings.jsonl", kSettings)}, 2, "no generation yet");
    refuses({log("null.jsonl", std::string(kSettings) +
                                   "{\"generation\":0,\"mean_return\":null,\"policy_return\":null,\"evaluations\":1,"
                                   "\"seconds\":1}\n")},
            2, "no finite score");
    refuses({log("cartpole.jsonl", kSettings + generation_line(0, "1")),
             log("acrobot.jsonl", "{\"settings\":{\"task\":\"acrobot\"}}\n" + generation_line(0, "1"))},
            2, "cannot share an axis");
    refuses({log("late.jsonl", kSettings + generation_line(40, "1")), "--x", "evaluations"}, 2,
            "begins with generation 41");
}

TEST_F(plot, an_out_that_would_overwrite_something_else) {
    const std::string text = kSettings + generation_line(0, "1");
    const std::string metrics = log("metrics.jsonl", text);
    const Ran over = run_command({"plot", metrics, "--out", metrics});
    EXPECT_EQ(over.code, 2);
    EXPECT_THAT(over.err, HasSubstr("ends in .svg"));
    EXPECT_EQ(read_text(metrics), text);
    std::filesystem::create_directory(folder_ / "folder.svg");
    const Ran folder = run_command({"plot", metrics, "--out", (folder_ / "folder.svg").string()});
    EXPECT_EQ(folder.code, 2);
    EXPECT_THAT(folder.err, HasSubstr("not a regular file"));
    const Ran nowhere = run_command({"plot", metrics, "--out", (folder_ / "no" / "curve.svg").string()});
    EXPECT_EQ(nowhere.code, 1);
    EXPECT_THAT(nowhere.err, HasSubstr("No such file"));
}

TEST_F(plot, flags) {
    const std::string metrics = log("metrics.jsonl", kSettings + generation_line(0, "1"));
    refuses({metrics, "--x", "days"}, 2, "there are generation, evaluations and seconds");
    EXPECT_EQ(run_command({"plot", metrics}).code, 2) << "--out is needed";
    EXPECT_EQ(run_command({"plot", "--out", picture()}).code, 2) << "files are needed";
    std::vector<std::string> many{"plot", "--out", picture()};
    many.insert(many.end(), 33, metrics);
    EXPECT_THAT(run_command(many).err, HasSubstr("at most 32"));
    EXPECT_THAT(run_command({"plot", "--help"}).out, HasSubstr("metrics.jsonl"));
}

}  // namespace
}  // namespace yolk::cli
