// SPDX-License-Identifier: Apache-2.0
// `yolk bench` without a subcommand.
#include <gmock/gmock.h>

#include <functional>
#include <set>

#include "command.hpp"

namespace yolk::cli {
namespace {

using ::testing::HasSubstr;
using ::testing::StartsWith;

const std::vector<std::string> kFewRows{"bench", "--quick", "--only", "dispatch", "--only", "softmax members"};

std::vector<std::string> few_rows(std::vector<std::string> more) {
    std::vector<std::string> arguments = kFewRows;
    arguments.insert(arguments.end(), more.begin(), more.end());
    return arguments;
}

class bench_suite : public InFolder {
   protected:
    [[nodiscard]] std::string written(const std::string& name, const std::string& text) const {
        write_text(folder_ / name, text);
        return (folder_ / name).string();
    }
};

TEST_F(bench_suite, rows_have_figures_beside_limits_of_the_same_run) {
    for (const char* driver : {kLavapipe, kSwiftShader}) {
        const Ran ran = run_command(few_rows({"--json"}), only(driver));
        ASSERT_EQ(ran.code, 0) << ran.err;
        ASSERT_EQ(ran.lines().size(), 1U) << ran.out;
        const Json suite = ran.last();
        EXPECT_EQ(suite["bench"], "suite");
        EXPECT_FALSE(suite["interrupted"]);
        EXPECT_GE(suite["limits"].size(), 2U) << "multiply-adds and memory, of softmax";
        std::set<std::string> groups;
        for (const Json& row : suite["rows"]) {
            groups.insert(row["group"]);
            ASSERT_FALSE(row.contains("error")) << row;
            EXPECT_GT(row["rate"], 0.0);
            EXPECT_GE(row["runs"], 1);
            EXPECT_LE(row["seconds_quartiles"][0], row["seconds"]);
            EXPECT_GE(row["seconds_quartiles"][1], row["seconds"]);
            EXPECT_GE(row["wall_seconds"].get<double>(), 0.5 * row["seconds"].get<double>());
            EXPECT_LE(row.value("of_limit", 0.0), 1.1) << row;
        }
        EXPECT_EQ(groups, (std::set<std::string>{"dispatch", "kernels"}));
    }
}

TEST_F(bench_suite, whole_generations_and_populations) {
    const Ran ran = run_command(
        {"bench", "--quick", "--only", "CartPole, 4096 members", "--only", "8-16-16-4, 8 examples", "--json"},
        only(kLavapipe));
    ASSERT_EQ(ran.code, 0) << ran.err;
    const Json suite = ran.last();
    std::multiset<std::string> groups;
    for (const Json& row : suite["rows"]) {
        EXPECT_FALSE(row.contains("error")) << row;
        groups.insert(row["group"]);
    }
    EXPECT_EQ(groups, (std::multiset<std::string>{"rollouts", "rollouts", "generations", "populations", "populations",
                                                  "searches"}));
}

// The server waits before each answer, so that nothing is faster than its waits.
TEST_F(bench_suite, model_calls_beside_the_servers_waits) {
    const Ran ran = run_command({"bench", "--quick", "--only", "model calls", "--json"}, only(kLavapipe));
    ASSERT_EQ(ran.code, 0) << ran.err;
    const Json suite = ran.last();
    ASSERT_EQ(suite["rows"].size(), 1U);
    const Json& row = suite["rows"][0];
    EXPECT_EQ(row["group"], "text");
    EXPECT_EQ(row["runs"], 5) << row;
    EXPECT_GT(row["of_limit"], 0.01);
    EXPECT_LT(row["of_limit"], 1.0);
}

// A command without the program that calls models still measures everything else.
TEST_F(bench_suite, without_the_program_of_model_calls_the_row_says_so) {
    std::filesystem::copy_file(YOLK_BINARY, folder_ / "yolk");
    const Ran ran =
        run_shell("'" + (folder_ / "yolk").string() + "' bench --quick --only 'model calls' --json", only(kLavapipe));
    EXPECT_EQ(ran.code, 0) << ran.err;
    ASSERT_EQ(ran.last()["rows"].size(), 1U);
    EXPECT_THAT(ran.last()["rows"][0].value("error", ""), HasSubstr("yolk-model-calls is not beside this one"));
}

// The file's figures are moved, so that the machine's load does not decide.
TEST_F(bench_suite, a_loss_beside_an_earlier_outcome_is_exit_code_1) {
    const Ran first = run_command(few_rows({"--json"}), only(kLavapipe));
    ASSERT_EQ(first.code, 0) << first.err;
    Json slow = first.last(), fast = first.last();
    for (Json& row : slow["rows"]) row["rate"] = 1e-6 * row["rate"].get<double>();
    for (Json& row : fast["rows"]) {
        row["rate"] = 1e6 * row["rate"].get<double>();
        row["seconds_quartiles"] = {row["seconds"], row["seconds"]};
    }
    fast["rows"].push_back({{"group", "kernels"}, {"name", "gone"}, {"error", "it could not be measured"}});
    const std::string slow_file = written("slow.json", slow.dump());
    const std::string fast_file = written("fast.json", fast.dump());

    const Ran won = run_command(few_rows({"--json", "--compare", slow_file}), only(kLavapipe));
    EXPECT_EQ(won.code, 0) << won.err;
    const Json beside = won.last()["compared"];
    ASSERT_EQ(beside["rows"].size(), slow["rows"].size());
    for (const Json& row : beside["rows"]) EXPECT_GT(row["ratio"], 1000.0);

    const Ran lost = run_command(few_rows({"--compare", fast_file}), only(kLavapipe));
    EXPECT_EQ(lost.code, 1) << lost.err;
    EXPECT_THAT(lost.out, HasSubstr("slower"));
}

TEST_F(bench_suite, an_outcome_that_cannot_be_compared_is_refused) {
    const Ran ran = run_command({"bench", "--quick", "--only", "dispatch", "--json"}, only(kLavapipe));
    ASSERT_EQ(ran.code, 0) << ran.err;
    const auto refuses = [&](const std::string& text, const std::string& part) {
        const std::string file = written("then.json", text);
        const Ran refused = run_command({"bench", "--only", "dispatch", "--compare", file}, only(kLavapipe));
        EXPECT_EQ(refused.code, 2) << refused.err;
        EXPECT_EQ(refused.out, "");
        EXPECT_THAT(refused.err, StartsWith("yolk: error: "));
        EXPECT_THAT(refused.err, HasSubstr(part));
    };
    const auto changed = [&](const std::function<void(Json&)>& change) {
        Json json = ran.last();
        change(json);
        return json.dump();
    };
    refuses("", "then.json");
    refuses("[1, 2", "then.json");
    refuses("[]", "it is another kind of JSON");
    refuses(R"({"bench":"rollout"})", "it is another kind of JSON");
    refuses(changed([](Json& json) { json["format"] = 2; }), "its format is not 1");
    refuses(changed([](Json& json) { json.erase("place"); }), "where it was measured");
    refuses(changed([](Json& json) { json["rows"] = 3; }), "it has no rows");
    refuses(changed([](Json& json) { json["rows"][0].erase("name"); }), "no name");
    refuses(changed([](Json& json) { json["rows"][0]["seconds_quartiles"] = {1}; }), "has no figure");
    refuses(changed([](Json& json) { json["rows"][0]["rate"] = 0; }), "has no figure");
    refuses(changed([](Json& json) { json["place"]["device"] = "another"; }), "its device is \"another\"");
    refuses(changed([](Json& json) { json["place"]["cores"] = 1000; }), "its number of cores is 1000");
    const Ran missing = run_command({"bench", "--compare", "/nowhere/then.json"}, only(kLavapipe));
    EXPECT_EQ(missing.code, 1) << missing.err;
    EXPECT_THAT(missing.err, HasSubstr("/nowhere/then.json"));
}

}  // namespace
}  // namespace yolk::cli
