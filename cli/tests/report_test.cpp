// SPDX-License-Identifier: Apache-2.0
// `yolk report` on what the command wrote itself, and on files that are something else.
#include <gmock/gmock.h>
#include <sys/file.h>

#include <fcntl.h>

#include <filesystem>

#include "command.hpp"

namespace yolk::cli {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::StartsWith;

std::string settings_line(Json settings) { return Json{{"settings", std::move(settings)}}.dump() + "\n"; }

std::string score_line(int generation, const Json& policy, double seconds = 1.0) {
    return Json{{"generation", generation}, {"mean_return", policy},          {"policy_return", policy},
                {"evaluations", 100},       {"evaluations_per_second", 50.0}, {"seconds", seconds + generation}}
               .dump() +
           "\n";
}

/// A log of `generations`; each score is `step` above the one before.
std::string straight_log(int seed, int generations, double step, const std::string& task = "cartpole") {
    std::string text = settings_line({{"task", task},
                                      {"population", 64},
                                      {"seed", seed},
                                      {"generations", generations},
                                      {"driver", "a driver"},
                                      {"device", "a device"},
                                      {"yolk_version", "0"}});
    for (int g = 0; g < generations; ++g) text += score_line(g, step * (g + 1));
    return text;
}

class report : public InFolder {
   protected:
    [[nodiscard]] std::string page() const { return (folder_ / "page.html").string(); }
    [[nodiscard]] std::string file(const std::string& name, const std::string& text) const {
        write_text(folder_ / name, text);
        return (folder_ / name).string();
    }
    /// The page of these runs, and its outcome.
    std::string report_of(std::vector<std::string> runs) {
        runs.insert(runs.begin(), {"report", "--out", page(), "--json"});
        const Ran ran = run_command(runs);
        EXPECT_EQ(ran.code, 0) << ran.err;
        outcome_ = ran.code == 0 ? ran.last() : Json::object();
        return ran.code == 0 ? read_text(page()) : std::string();
    }
    void refuses(std::vector<std::string> runs, const std::string& part) const {
        runs.insert(runs.begin(), {"report", "--out", page()});
        const Ran ran = run_command(runs);
        EXPECT_EQ(ran.code, 2) << ran.err;
        EXPECT_EQ(ran.out, "");
        EXPECT_THAT(ran.err, StartsWith("yolk: error: "));
        EXPECT_THAT(ran.err, HasSubstr(part));
        EXPECT_FALSE(std::filesystem::exists(page()));
    }
    Json outcome_;
};

TEST_F(report, seeds_of_a_task_share_figures_with_a_median) {
    std::vector<std::string> runs;
    for (int seed = 1; seed <= 3; ++seed)
        runs.push_back(file("seed" + std::to_string(seed) + ".jsonl", straight_log(seed, 5, 10.0 * seed)));
    const std::string html = report_of(runs);
    EXPECT_EQ(outcome_.value("runs", 0), 3);
    EXPECT_EQ(outcome_["tasks"], Json::array({"cartpole"}));
    // Over generations, evaluations and seconds, and the throughput.
    for (const char* figure : {"generations", "evaluations", "seconds", "throughput"})
        EXPECT_EQ(occurrences(html, std::string("data-figure=\"") + figure + "\""), 1U) << figure;
    EXPECT_EQ(occurrences(html, "data-generations=\"5\" data-points=\"5\""), 3U * 4U);
    EXPECT_EQ(occurrences(html, "<path class=\"typical\" data-points=\""), 4U);
    EXPECT_EQ(occurrences(html, "<path class=\"typical\" data-points=\"5\""), 2U) << "over generations, each has one";
    EXPECT_EQ(occurrences(html, "<path class=\"quartiles\" d=\"M"), 4U);
    EXPECT_THAT(html, HasSubstr("evaluations per second"));
    EXPECT_THAT(html, HasSubstr("<td>a device</td><td>a driver</td>"));
    for (const char* outside : {"<script", "http:", "https:", "src=", "<link", "@import", "url("})
        EXPECT_THAT(html, Not(HasSubstr(outside)));
    EXPECT_THAT(html, HasSubstr("prefers-color-scheme:dark"));
    EXPECT_EQ(html, report_of(runs)) << "the same bytes for the same files";
}

// Scores of 10, 20 and 40 a generation: the median of generation g is 20 g, the quartiles 15 g and 30 g.
TEST_F(report, median_and_quartiles_lie_where_they_belong) {
    const std::string html =
        report_of({file("a.jsonl", straight_log(1, 2, 10.0)), file("b.jsonl", straight_log(2, 2, 20.0)),
                   file("c.jsonl", straight_log(3, 2, 40.0))});
    // Generations 1 and 2 of 0 to 2 in a frame from 58 to 546; scores 7.2 to 82.8 (10 to 80 with 4 % of room) in one
    // from 260 up to 16: y = 260 - 244 (score - 7.2) / 75.6.
    EXPECT_THAT(html, HasSubstr("<path class=\"typical\" data-points=\"2\" d=\"M302.0 218.7L546.0 154.1\"/>"));
    EXPECT_THAT(html, HasSubstr("<path class=\"quartiles\" d=\"M302.0 186.4L546.0 89.6L546.0 186.4L302.0 234.8Z\"/>"));
}

TEST_F(report, runs_of_train_and_the_log_of_a_system) {
    std::vector<std::string> runs;
    for (const char* seed : {"1", "2"}) {
        runs.push_back((folder_ / (std::string("seed") + seed)).string());
        const Ran ran =
            run_command({"train", "cartpole", "--population", "64", "--generations", "3", "--keep-going", "--seed",
                         seed, "--json", "--audit", ".25", "--devices", "all", "--out", runs.back()},
                        only(std::string(kLavapipe) + ":" + kSwiftShader));
        ASSERT_EQ(ran.code, 0) << ran.err;
    }
    runs.push_back((folder_ / "xor.jsonl").string());
    ASSERT_EQ(run_command({"system", "xor", "optimize", "--generations", "4", "--population", "8", "--quiet", "--log",
                           runs.back()},
                          only(kLavapipe))
                  .code,
              0);
    const std::string html = report_of(runs);
    EXPECT_EQ(outcome_["tasks"], Json::array({"cartpole", "xor"}));
    EXPECT_EQ(occurrences(html, "data-generations=\"3\" data-points=\"3\""), 2U * 4U);
    EXPECT_EQ(occurrences(html, "data-generations=\"4\" data-points=\"4\""), 4U);
    EXPECT_THAT(html, HasSubstr("ended by generations"));
    EXPECT_THAT(html, HasSubstr("metric calls"));
    EXPECT_THAT(html, HasSubstr("Devices&rsquo; shares"));
    EXPECT_EQ(occurrences(html, "<rect class=\"share\""), 4U) << "two devices of two runs";
    EXPECT_THAT(html, HasSubstr("SwiftShader driver"));
    EXPECT_EQ(html.find("the log does not say"), std::string::npos);
    const std::string metrics = read_text(folder_ / "seed1" / "metrics.jsonl");
    const Json first = Json::parse(metrics.substr(0, metrics.find('\n')));
    EXPECT_EQ(occurrences(html, "<td>" + first["settings"].value("processor", "none") + "</td>"), 2U);
    EXPECT_EQ(occurrences(html, "<section id=\"task-"), 2U);
}

TEST_F(report, a_dropped_device_and_audits_are_told) {
    std::string text = settings_line({{"task", "cartpole"}, {"seed", 1}});
    for (int g = 0; g < 3; ++g) {
        Json line = Json::parse(score_line(g, 1.0));
        line["devices"] = Json::array({{{"device", "first"}, {"dropped", false}, {"members", 30}, {"audited", 7}},
                                       {{"device", "second"}, {"dropped", g > 0}, {"members", g > 0 ? 0 : 10}}});
        text += line.dump() + "\n";
    }
    const std::string html = report_of({file("a.jsonl", text)});
    EXPECT_THAT(html, HasSubstr("90.0 %</td><td class=\"n\">90</td><td class=\"n\">21</td>"));
    EXPECT_THAT(html, HasSubstr("10.0 %</td><td class=\"n\">10</td><td class=\"n\">0</td>"));
    EXPECT_EQ(occurrences(html, "in generation 2</td>"), 1U);
}

TEST_F(report, settings_that_differ_have_a_colour_each) {
    const auto with = [](double sigma, int seed) {
        return settings_line({{"task", "cartpole"}, {"seed", seed}, {"sigma", sigma}, {"device", seed}}) +
               score_line(0, sigma) + score_line(1, sigma * seed);
    };
    const std::string html = report_of({file("a.jsonl", with(0.5, 1)), file("b.jsonl", with(0.5, 2)),
                                        file("c.jsonl", with(2.0, 1)), file("d.jsonl", with(2.0, 2))});
    EXPECT_THAT(html, HasSubstr("sigma 0.5 (2 runs)"));
    EXPECT_THAT(html, HasSubstr("sigma 2.0 (2 runs)"));
    EXPECT_THAT(html, Not(HasSubstr("device 1")));
    EXPECT_EQ(occurrences(html, "<path class=\"typical\" data-points"), 2U * 4U);
}

TEST_F(report, tasks_never_share_a_figure) {
    const std::string html =
        report_of({file("a.jsonl", straight_log(1, 2, 1.0)), file("b.jsonl", straight_log(1, 2, 1.0, "acrobot")),
                   file("c.jsonl", straight_log(2, 2, 1.0))});
    EXPECT_EQ(outcome_["tasks"], Json::array({"cartpole", "acrobot"}));
    EXPECT_EQ(occurrences(html, "data-figure=\"generations\""), 2U);
    const std::string cartpole = html.substr(0, html.find("<section id=\"task-2\">"));
    EXPECT_THAT(cartpole, HasSubstr("c.jsonl"));
    EXPECT_THAT(cartpole, Not(HasSubstr("b.jsonl")));
}

TEST_F(report, a_run_that_is_still_going_or_was_killed) {
    const std::string whole = straight_log(1, 2, 1.0);
    const std::string torn = file("torn.jsonl", whole + R"({"generation":2,"mean_re)");
    EXPECT_THAT(report_of({torn}), HasSubstr("ended in the middle of a line"));
    std::filesystem::create_directory(folder_ / "run");
    write_text(folder_ / "run" / "metrics.jsonl", whole);
    write_text(folder_ / "run" / ".yolk-lock", "1\n");
    EXPECT_THAT(report_of({(folder_ / "run").string()}), Not(HasSubstr("still going"))) << "left by a killed process";
    const int lock = ::open((folder_ / "run" / ".yolk-lock").c_str(), O_RDWR | O_CLOEXEC);
    ASSERT_EQ(::flock(lock, LOCK_EX | LOCK_NB), 0);
    const std::string html = report_of({(folder_ / "run").string()});
    ::close(lock);
    EXPECT_THAT(html, HasSubstr("1 run, 1 of them still going."));
    EXPECT_THAT(html, HasSubstr("<td>still going</td>"));
}

TEST_F(report, no_generation_yet_and_scores_that_are_not_finite) {
    const std::string begun = file("begun.jsonl", straight_log(1, 0, 1.0));
    EXPECT_THAT(report_of({begun}), HasSubstr("There is no finite score yet"));
    const std::string none = file("none.jsonl", settings_line({{"task", "cartpole"}}) + score_line(0, nullptr));
    const std::string gap = file("gap.jsonl", settings_line({{"task", "cartpole"}, {"seed", 2}}) + score_line(0, 1.0) +
                                                  score_line(1, nullptr) + score_line(2, 3.0));
    const std::string html = report_of({begun, none, gap});
    EXPECT_EQ(outcome_.value("runs", 0), 3);
    EXPECT_THAT(html, Not(HasSubstr("nan")));
    EXPECT_THAT(html, HasSubstr("data-generations=\"3\" data-points=\"2\""));
    EXPECT_THAT(html, HasSubstr("<td>no generation</td>"));
}

TEST_F(report, a_hundred_thousand_generations_stay_small_and_keep_their_peaks) {
    std::string text = settings_line({{"task", "cartpole"}});
    for (int g = 0; g < 100'000; ++g) text += score_line(g, g == 12'345 ? 900 : g % 2);
    const std::string html = report_of({file("long.jsonl", text)});
    EXPECT_LT(html.size(), 100'000U);
    EXPECT_THAT(html, HasSubstr("data-generations=\"100000\" data-points=\"500\""));
    // Of 0 to 900 with 4 % of room at either end, in a frame from 260 up to 16: 260 - 244 (1.04 / 1.08).
    EXPECT_THAT(html, HasSubstr(" 25.0L"));
}

TEST_F(report, names_are_no_markup) {
    const std::string evil = "<script>alert('x')</script>";
    std::string text = settings_line({{"task", evil}, {"seed", evil}, {"device", evil}, {"driver", evil}});
    Json line = Json::parse(score_line(0, 1.0));
    line["devices"] = Json::array({{{"device", evil}, {"members", 1}}});
    const std::string html =
        report_of({file("<b>&.jsonl", text + line.dump() + "\n"),
                   file("rows.jsonl", Json{{"side", evil}, {"size", evil}, {"median", 1}}.dump())});
    EXPECT_THAT(html, Not(HasSubstr("<script")));
    EXPECT_THAT(html, Not(HasSubstr("<b>")));
    EXPECT_GE(occurrences(html, "&lt;script&gt;alert(&#39;x&#39;)&lt;/script&gt;"), 6U);
    EXPECT_THAT(html, HasSubstr("&lt;b&gt;&amp;.jsonl"));
}

TEST_F(report, a_language_model_of_bytes) {
    std::string text = settings_line({{"task", "bytes"}, {"population", "16"}, {"seed", "1"}});
    for (int g = 0; g < 3; ++g)
        text += Json{{"generation", g}, {"bits_per_byte", 8.5 - g}, {"seconds", g + 1.0}, {"members_per_second", 9.0}}
                    .dump() +
                "\n";
    const std::string html = report_of({file("metrics.jsonl", text)});
    EXPECT_THAT(html, HasSubstr("best bits per byte"));
    EXPECT_THAT(html, HasSubstr("<td class=\"n\">6.5</td><td class=\"n\">6.5</td><td class=\"n\">48</td>"))
        << "the last and the best, and 3 generations of 16 members";
}

TEST_F(report, a_recording_of_a_tuning_has_its_surface_and_the_best_so_far) {
    std::string csv = "tile,unroll,time\n";
    for (int tile = 1; tile <= 6; ++tile)
        for (int unroll = 1; unroll <= 4; ++unroll)
            csv +=
                std::to_string(tile) + "," + std::to_string(unroll) + "," + std::to_string(tile * unroll + 1) + ".5\n";
    const std::string html = report_of({file("surface.csv", csv)});
    EXPECT_EQ(outcome_.value("shapes", 0), 1);
    EXPECT_EQ(outcome_.value("runs", 9), 0);
    EXPECT_THAT(html, HasSubstr("surface.csv"));
    EXPECT_THAT(html, HasSubstr("Cost by knob"));
    EXPECT_THAT(html, HasSubstr("best so far of all strategies"));
}

TEST_F(report, others_beside_yolk) {
    const std::string rows = R"({"side":"yolk","evaluations_per_second":300.0,"lowest":290,"highest":310})"
                             "\n"
                             R"({"side":"other","evaluations_per_second":100.0,"lowest":80,"highest":120})"
                             "\n"
                             R"({"side":"third","failed":"it is <not> installed"})"
                             "\n"
                             R"({"side":"fo)";
    const std::string html = report_of({file("rows.jsonl", rows)});
    EXPECT_EQ(outcome_.value("rows", 0), 3);
    EXPECT_THAT(html, HasSubstr("<td class=\"n\">3.00 times</td>"));
    EXPECT_THAT(html, HasSubstr("it is &lt;not&gt; installed"));
    EXPECT_EQ(occurrences(html, "<rect class=\"bar"), 2U);
    EXPECT_THAT(html, HasSubstr("evaluations per second"));
}

TEST_F(report, rates_of_a_bench_with_their_shares_of_limits) {
    Json outcome = Json::parse(R"({"bench":"suite","format":1,"limits":[{"name":"memory","unit":"G bytes/s","rate":20}],
        "place":{"device":"some <device>","driver":"d 1","cores":2,"version":"0.1"},"rows":[
        {"group":"kernels","name":"softmax: rows=16","unit":"G bytes/s","rate":15,"runs":7,"seconds":0.002,
         "seconds_quartiles":[0.0019,0.0021],"limit":20,"limit_of":"memory","of_limit":0.75},
        {"group":"text","name":"model calls","error":"the program is not beside this one"}]})");
    const std::string html = report_of({file("bench.json", outcome.dump())});
    EXPECT_EQ(outcome_.value("bench_rows", 0), 2);
    EXPECT_THAT(html, HasSubstr("some &lt;device&gt;, d 1, 2 cores, Yolk 0.1. Limit of memory: 20 G bytes/s."));
    EXPECT_THAT(html, HasSubstr("<td data-share=\"0.750\">"));
    EXPECT_THAT(html, HasSubstr("1.9 to 2.1</td>"));
    EXPECT_THAT(html, HasSubstr("the program is not beside this one"));
    outcome["rows"][0]["rate"] = "fast";
    const Ran refused = run_command({"report", file("bad.json", outcome.dump())});
    EXPECT_EQ(refused.code, 2) << refused.err;
    EXPECT_THAT(refused.err, HasSubstr("the row 'softmax: rows=16' has no figure"));
}

TEST_F(report, damaged_files_name_the_line) {
    const std::string begin = straight_log(1, 1, 1.0);
    refuses({file("a.jsonl", begin + "{\"generation\":1,\n" + score_line(2, 1.0))},
            "a.jsonl', line 3 is not valid JSON");
    refuses({file("b.jsonl", begin + "{\"generation\":1}\n")}, "line 3 has no evaluations");
    const std::string good = R"({"side":"yolk","median":1})"
                             "\n";
    refuses({file("c.jsonl", good + "{\"side\":\"x\"}\n")}, "c.jsonl' is damaged: line 2 has neither a `median`");
    refuses({file("d.jsonl", good + "[]\n")}, "line 2 is not an object with `side`");
}

TEST_F(report, what_is_no_run) {
    std::filesystem::create_directory(folder_ / "empty");
    refuses({(folder_ / "empty").string()}, "empty' is a folder that has no metrics.jsonl");
    refuses({file("empty.jsonl", "")}, "is empty");
    refuses({file("notes.txt", "some notes\nof mine\n")}, "notes.txt' is nothing that a report shows");
    const std::string run = file("a.jsonl", straight_log(1, 1, 1.0));
    refuses({run, (folder_ / "." / "a.jsonl").string()}, "is given twice");
    std::filesystem::create_directory(folder_ / "folder");
    const std::string metrics = file("folder/metrics.jsonl", straight_log(1, 1, 1.0));
    refuses({(folder_ / "folder").string(), metrics}, "is given twice");
    std::vector<std::string> many(257, run);
    refuses(many, "at most 256");
    EXPECT_EQ(run_command({"report", "--out", page()}).code, 2) << "runs are needed";
    EXPECT_EQ(run_command({"report", (folder_ / "missing").string(), "--out", page()}).code, 1);
    const Ran svg = run_command({"report", run, "--out", (folder_ / "page.svg").string()});
    EXPECT_EQ(svg.code, 2);
    EXPECT_THAT(svg.err, HasSubstr("ends in .html"));
    std::filesystem::create_directory(folder_ / "folder.html");
    EXPECT_THAT(run_command({"report", run, "--out", (folder_ / "folder.html").string()}).err,
                HasSubstr("not a regular file"));
}

}  // namespace
}  // namespace yolk::cli
