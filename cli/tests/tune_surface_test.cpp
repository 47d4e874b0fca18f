// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>

#include <cmath>

#include "command.hpp"
#include "yolk/internal/core/file.hpp"

namespace yolk::cli {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::StartsWith;

/// 4 x 8 x 2 configurations, the optimum at (4, 16, 1), as CSV.
std::string small_surface(double tilt) {
    std::string text = "tile,width,split,time\n";
    for (const int tile : {1, 2, 4, 8}) {
        for (const int width : {1, 2, 4, 8, 16, 32, 64, 128}) {
            for (const int split : {0, 1}) {
                const double time = 1.0 + tilt * std::abs(std::log2(tile) - 2.0) +
                                    0.3 * std::abs(std::log2(width) - 4.0) + 0.2 * (1 - split);
                text += std::to_string(tile) + "," + std::to_string(width) + "," + std::to_string(split) + "," +
                        (tile * width > 512 ? "failed" : std::to_string(time)) + "\n";
            }
        }
    }
    return text;
}

class tune_surface : public InFolder {
   protected:
    void SetUp() override {
        InFolder::SetUp();
        write_text(folder_ / "here.csv", small_surface(0.5));
        write_text(folder_ / "there.csv", small_surface(0.4));
    }
    [[nodiscard]] Ran tune(std::vector<std::string> arguments) const {
        arguments.insert(arguments.begin(), {"tune", "surface", (folder_ / "here.csv").string()});
        return run_command(arguments);
    }
};

// Whatever the strategy: what cannot be searched is told, and what need not be searched is answered.
TEST_F(tune_surface, recordings_without_a_choice) {
    write_text(folder_ / "failed.csv", "tile,time\n1,failed\n2,\n4,failed\n");
    write_text(folder_ / "one.csv", "tile,time\n4,1.5\n");
    for (const char* strategy :
         {"natural", "bayes", "greedy", "anneal", "genetic", "eggroll", "smoothed", "random", "exhaustive"}) {
        const auto ran = [&](const char* file) {
            return run_command({"tune", "surface", (folder_ / file).string(), "--strategy", strategy, "--budget", "20",
                                "--repeats", "2"});
        };
        const Ran failed = ran("failed.csv");
        EXPECT_NE(failed.code, 0) << strategy;
        EXPECT_THAT(failed.err, HasSubstr("No configuration on the surface worked (3 failed)")) << strategy;
        const Ran one = ran("one.csv");
        EXPECT_EQ(one.code, 0) << strategy << one.err;
        EXPECT_THAT(one.out, HasSubstr("1 configuration, 1 of them valid")) << strategy;
        EXPECT_THAT(one.out, HasSubstr("There is nothing to choose")) << strategy;
    }
}

TEST_F(tune_surface, outcome_is_one_object) {
    const Ran ran = tune({"--strategy", "natural", "--budget", "30", "--repeats", "5", "--seed", "3", "--json"});
    ASSERT_EQ(ran.code, 0) << ran.err;
    ASSERT_EQ(ran.lines().size(), 1U) << ran.out;
    const Json json = ran.last();
    std::vector<std::string> keys;
    for (const auto& [key, value] : json.items()) keys.push_back(key);
    keys.resize(7);
    EXPECT_THAT(keys,
                ElementsAre("surface", "strategy", "budgets", "mean", "p10", "evaluations_to_90", "evaluations_to_95"));
    EXPECT_EQ(json["budgets"], Json({10, 16, 25}));
    EXPECT_EQ(json["mean"].size(), 3U);
    EXPECT_GT(json["mean"][2], 0.95);
    EXPECT_LE(json["p10"][0], json["mean"][0]);
    EXPECT_LE(json["evaluations_to_90"], json["evaluations_to_95"]);
    EXPECT_EQ(json["configurations"], 64);
    EXPECT_EQ(json["valid"], 62);
}

// A seed means the same searches whatever the threads, and another seed others.
TEST_F(tune_surface, seed_decides) {
    const auto mean = [this](const char* seed, const char* threads) {
        return tune({"--strategy", "random", "--budget", "16", "--repeats", "6", "--seed", seed, "--threads", threads,
                     "--json"})
            .last()["mean"];
    };
    EXPECT_EQ(mean("5", "1"), mean("5", "3"));
    EXPECT_NE(mean("5", "1"), mean("6", "1"));
}

TEST_F(tune_surface, every_strategy_runs_and_people_get_a_table) {
    for (const char* strategy :
         {"natural", "eggroll", "smoothed", "random", "exhaustive", "greedy", "anneal", "genetic", "bayes"}) {
        const Ran ran = tune({"--strategy", strategy, "--budget", "16", "--repeats", "2"});
        ASSERT_EQ(ran.code, 0) << ran.err;
        for (const char* part : {strategy, "64 configurations, 62 of them valid, optimum 1", "tenth percentile"})
            EXPECT_THAT(ran.out, HasSubstr(part));
    }
}

// --lr is the rate of the gradient's steps, and its own default is one of each step's.
TEST_F(tune_surface, learning_rate_reaches_the_steps) {
    const auto mean = [this](const char* strategy, std::vector<std::string> flags) {
        flags.insert(flags.end(), {"--strategy", strategy, "--budget", "50", "--repeats", "8", "--json"});
        const Ran ran = tune(flags);
        EXPECT_EQ(ran.code, 0) << ran.err;
        return ran.last()["mean"];
    };
    for (const char* strategy : {"eggroll", "smoothed"}) {
        for (const char* step : {"plain", "inverse-sqrt", "natural"}) {
            EXPECT_NE(mean(strategy, {"--step", step, "--lr", "1e-6"}), mean(strategy, {"--step", step}))
                << strategy << " " << step;
        }
    }
}

// What another device recorded makes the first measurements good; the surface itself is not admitted among the others.
TEST_F(tune_surface, transfers) {
    const Ran warm = tune({"--transfer", (folder_ / "there.csv").string(), (folder_ / "here.csv").string(), "--budget",
                           "10", "--repeats", "2", "--json"});
    ASSERT_EQ(warm.code, 0) << warm.err;
    EXPECT_GT(warm.last()["mean"][0], 0.99);
    EXPECT_EQ(warm.last()["transferred_from"], 1);
    EXPECT_THAT(warm.err, HasSubstr("left out of --transfer"));
}

// What is searched for, and which names of a flat list are parameters, decide the optimum that is found.
TEST_F(tune_surface, objective_and_parameters_are_those_that_are_named) {
    // Slow at 4 by time and by watts, fast by rate: three different answers of one recording.
    write_text(folder_ / "flat.json", R"([{"tile": 1, "time": 2.0, "GFLOP/s": 100, "watts": 30, "score": 4},
        {"tile": 2, "time": 1.0, "GFLOP/s": 200, "watts": 20, "score": 2},
        {"tile": 4, "time": 5.0, "GFLOP/s": 400, "watts": 50, "score": 1}])");
    const std::string flat = (folder_ / "flat.json").string();
    const auto outcome = [&](std::vector<std::string> flags) {
        flags.insert(flags.begin(), {"tune", "surface", flat, "--repeats", "1", "--budget", "3", "--json"});
        return run_command(flags);
    };
    const std::vector<std::pair<std::vector<std::string>, double>> optima{{{}, 1.0},
                                                                          {{"--objective", "time"}, 1.0},
                                                                          {{"--objective", "GFLOP/s"}, 1.0 / 400},
                                                                          {{"--objective", "score"}, 1.0 / 4},
                                                                          {{"--objective", "min:score"}, 1.0},
                                                                          {{"--objective", "max:watts"}, 1.0 / 50},
                                                                          {{"--objective", "min:watts"}, 20.0}};
    for (const auto& [flags, optimum] : optima) {
        std::vector<std::string> all{"--parameters", "tile"};
        all.insert(all.end(), flags.begin(), flags.end());
        const Ran ran = outcome(all);
        ASSERT_EQ(ran.code, 0) << ran.err;
        EXPECT_DOUBLE_EQ(ran.last()["optimum"].get<double>(), optimum) << ::testing::PrintToString(flags);
        EXPECT_EQ(ran.last()["configurations"], 3);
        EXPECT_EQ(ran.last()["mean"][0], 1.0) << "all of three are measured";
    }
    const std::vector<std::pair<std::vector<std::string>, const char*>> refused{
        {{}, "--parameters"},
        {{"--parameters", "width"}, "there is no value of parameter 'width'"},
        {{"--parameters", "tile", "--objective", "watts"}, "--objective max:watts or min:watts"},
        {{"--parameters", "tile", "--objective", "joules"}, "joules"},
        {{"--parameters", "tile", "--objective", ""}, "--objective"},
        {{"--parameters", "tile", "--objective", "max:"}, "--objective"}};
    for (const auto& [flags, part] : refused) {
        const Ran ran = outcome(flags);
        EXPECT_EQ(ran.code, 2) << ::testing::PrintToString(flags) << ran.out;
        EXPECT_THAT(ran.err, HasSubstr(part)) << ::testing::PrintToString(flags);
    }
    // Of several measured names one is searched for, and the columns of a CSV file are chosen likewise.
    write_text(folder_ / "columns.csv", "tile,note,time\n1,a,3\n2,b,2\n");
    const Ran columns = run_command({"tune", "surface", (folder_ / "columns.csv").string(), "--parameters", "tile",
                                     "--repeats", "1", "--budget", "2", "--json"});
    EXPECT_EQ(columns.last()["configurations"], 2) << columns.err;
}

// The report takes the same two.
TEST_F(tune_surface, reports_take_objective_and_parameters) {
    write_text(folder_ / "flat.json",
               R"([{"tile": 1, "time": 2.0, "GFLOP/s": 100}, {"tile": 2, "time": 1.0, "GFLOP/s": 50}])");
    const std::string page = (folder_ / "page.html").string();
    const auto report = [&](std::vector<std::string> flags) {
        flags.insert(flags.begin(), {"tune", "report", page, "--surface", (folder_ / "flat.json").string(),
                                     "--strategy", "random", "--repeats", "1", "--json"});
        return run_command(flags);
    };
    EXPECT_EQ(report({}).code, 2);
    EXPECT_FALSE(std::filesystem::exists(page));
    const Ran by_rate = report({"--parameters", "tile", "--objective", "GFLOP/s"});
    ASSERT_EQ(by_rate.code, 0) << by_rate.err;
    EXPECT_TRUE(std::filesystem::exists(page));
    EXPECT_EQ(report({"--parameters", "tile", "--objective", "watts"}).code, 2);
}

// The same curves wherever the algebra is done, and the outcome says where that was.
TEST_F(tune_surface, algebra_on_a_device_changes_no_curve) {
    const auto run = [this](const char* driver, std::vector<std::string> algebra) {
        algebra.insert(algebra.begin(), {"tune", "surface", (folder_ / "here.csv").string(), "--budget", "40",
                                         "--repeats", "2", "--json", "--algebra"});
        return run_command(algebra, only(driver));
    };
    const Json host = run(kLavapipe, {"host"}).last();
    EXPECT_EQ(host["algebra"], "host");
    for (const char* driver : {kLavapipe, kSwiftShader}) {
        const Ran ran = run(driver, {"device", "--no-tuning"});
        ASSERT_EQ(ran.code, 0) << ran.err;
        const Json device = ran.last();
        EXPECT_EQ(device["algebra"], "device");
        EXPECT_EQ(device["mean"], host["mean"]);
        EXPECT_EQ(device["p10"], host["p10"]);
        EXPECT_EQ(device["algebra_counts"]["take_overs"], 0) << device.dump();
        EXPECT_GT(device["algebra_counts"]["proposals"], 20);
    }
}

// The population of eggroll likewise: on the host by the exact twins, on a device by the kernels.
TEST_F(tune_surface, eggroll_has_the_hosts_bits_on_a_device) {
    const auto run = [this](const char* driver, const char* place) {
        return run_command({"tune", "surface", (folder_ / "here.csv").string(), "--strategy", "eggroll", "--budget",
                            "30", "--repeats", "2", "--json", "--algebra", place},
                           only(driver));
    };
    const Json host = run(kLavapipe, "host").last();
    EXPECT_EQ(host["algebra"], "host");
    for (const char* driver : {kLavapipe, kSwiftShader}) {
        const Ran ran = run(driver, "auto");
        ASSERT_EQ(ran.code, 0) << ran.err;
        const Json device = ran.last();
        EXPECT_EQ(device["algebra"], "device");
        EXPECT_EQ(device["mean"], host["mean"]);
        EXPECT_EQ(device["algebra_counts"]["take_overs"], 0) << device.dump();
        EXPECT_GT(device["algebra_counts"]["generations"], 4);
    }
}

TEST_F(tune_surface, bad_input_is_told) {
    const auto refuses = [](const std::vector<std::string>& arguments, const std::string& part) {
        const Ran ran = run_command(arguments);
        EXPECT_EQ(ran.code, 2) << ran.err;
        EXPECT_EQ(ran.out, "");
        EXPECT_THAT(ran.err, StartsWith("yolk: error: "));
        EXPECT_THAT(ran.err, HasSubstr(part));
    };
    const std::string here = (folder_ / "here.csv").string();
    refuses({"tune", "surface", here, "--strategy", "luck"}, "no strategy 'luck'; there are natural, eggroll");
    refuses({"tune", "surface", here, "--budget", "0"}, "--budget is 0");
    refuses({"tune", "surface", here, "--repeats", "0"}, "--repeats is 0");
    refuses({"tune", "surface", here, "--strategy", "eggroll", "--step", "big"}, "no step 'big'");
    refuses({"tune", "surface", here, "--strategy", "eggroll", "--lr", "-1"}, "which is above 0");
    refuses({"tune", "surface", here, "--strategy", "random", "--transfer", here},
            "--transfer has no effect here: it goes with --strategy natural");
    refuses({"tune", "surface", here, "--algebra", "abacus"}, "it is host, device or auto");
    refuses({"tune", "surface", here, "--algebra", "device", "--strategy", "greedy"},
            "--algebra has no effect here: it goes with --strategy natural or bayes");
    write_text(folder_ / "broken.json", "{\"cache\": ");
    refuses({"tune", "surface", (folder_ / "broken.json").string()}, "not valid JSON");
    EXPECT_EQ(run_command({"tune", "surface", (folder_ / "none.json").string()}).code, 1);
}

TEST_F(tune_surface, a_recording_can_be_reported_on) {
    const std::string page = (folder_ / "report.html").string();
    const auto report = [&](std::vector<std::string> flags) {
        flags.insert(flags.begin(), {"tune", "report", page, "--surface", (folder_ / "here.csv").string()});
        return run_command(flags);
    };
    ASSERT_EQ(report({"--budget", "24", "--repeats", "3"}).code, 0);
    const std::string first = read_text(page);
    for (const char* part : {"here.csv", "Cost by knob", "tile", "<title>natural</title>", "<title>bayes</title>",
                             "know only the 64 configurations", "2 of the configurations failed"})
        EXPECT_THAT(first, HasSubstr(part));
    ASSERT_EQ(report({"--budget", "24", "--repeats", "3"}).code, 0);
    EXPECT_EQ(read_text(page), first);
    ASSERT_EQ(report({"--strategy", "greedy,anneal", "--repeats", "2"}).code, 0);
    EXPECT_THAT(read_text(page), HasSubstr("<title>random</title>"));
    EXPECT_EQ(read_text(page).find("<title>bayes</title>"), std::string::npos);
    EXPECT_EQ(report({"--repeats", "0"}).code, 2);
    EXPECT_EQ(report({"--strategy", "greedy,luck"}).code, 2);
}

}  // namespace
}  // namespace yolk::cli
