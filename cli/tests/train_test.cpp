// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>

#include "command.hpp"

namespace yolk::cli {
namespace {

using ::testing::HasSubstr;

const std::vector<std::string>& tiny() {
    static const std::vector<std::string> kFlags{"--population", "64", "--generations", "2",
                                                 "--max-steps",  "40", "--keep-going"};
    return kFlags;
}

class train : public InFolder {
   protected:
    [[nodiscard]] Ran run_tiny(const std::vector<std::string>& more, const char* driver = kLavapipe) const {
        std::vector<std::string> arguments{"train", "cartpole", "--out", (folder_ / "out").string()};
        arguments.insert(arguments.end(), tiny().begin(), tiny().end());
        arguments.insert(arguments.end(), more.begin(), more.end());
        return run_command(arguments, only(driver));
    }
};

TEST_F(train, json_ends_with_the_outcome) {
    const Ran ran = run_tiny({"--json", "--seed", "7"});
    ASSERT_EQ(ran.code, 0) << ran.err;
    const std::vector<Json> lines = ran.lines();
    ASSERT_EQ(lines.size(), 3U) << ran.out;  // two generations and the outcome
    std::vector<std::string> keys;
    for (const auto& [key, value] : lines.back().items()) keys.push_back(key);
    ASSERT_GE(keys.size(), 12U);
    keys.resize(12);
    EXPECT_THAT(keys, ::testing::ElementsAre("task", "device", "driver", "seed", "population", "generations",
                                             "evaluations_per_second", "eval_mean_return", "state_hash",
                                             "peak_memory_bytes", "seconds", "first_generation_seconds"));
    const Json& outcome = lines.back();
    EXPECT_EQ(outcome["task"], "cartpole");
    EXPECT_EQ(outcome["seed"], 7);
    EXPECT_EQ(outcome["population"], 64);
    EXPECT_EQ(outcome["generations"], 2);
    EXPECT_EQ(outcome["state_hash"], lines[1]["state_hash"]);
    EXPECT_EQ(lines[1]["state_digest"].get<std::string>().size(), 32U);
    std::vector<std::string> arguments{"train", "cartpole", "--json", "--seed", "7", "--out", "", "--hash-every", "0"};
    arguments.insert(arguments.end(), tiny().begin(), tiny().end());
    const std::vector<Json> rarely = run_command(arguments, only(kLavapipe)).lines();
    ASSERT_EQ(rarely.size(), 3U);
    EXPECT_FALSE(rarely[0].contains("state_hash"));
    EXPECT_EQ(rarely[0]["state_digest"], lines[0]["state_digest"]);
    EXPECT_EQ(rarely[2]["state_hash"], outcome["state_hash"]);
    EXPECT_GT(outcome["evaluations_per_second"], 0.0);
    EXPECT_GT(outcome["peak_memory_bytes"], 1 << 20);
    EXPECT_GT(outcome["first_generation_seconds"], 0.0);
    EXPECT_TRUE(std::filesystem::exists(folder_ / "out" / "policy.safetensors"));
    EXPECT_TRUE(std::filesystem::exists(folder_ / "out" / "metrics.jsonl"));
}

TEST_F(train, same_seed_same_state_on_both_drivers) {
    const Ran one = run_tiny({"--json", "--seed", "3"});
    const Ran other = run_tiny({"--json", "--seed", "3"}, kSwiftShader);
    ASSERT_EQ(one.code, 0) << one.err;
    ASSERT_EQ(other.code, 0) << other.err;
    EXPECT_EQ(one.last()["state_hash"], other.last()["state_hash"]);
    EXPECT_NE(one.last()["device"], other.last()["device"]);
    EXPECT_NE(run_tiny({"--json", "--seed", "4"}).last()["state_hash"], one.last()["state_hash"]);
}

TEST_F(train, people_see_each_generation_and_what_to_do_next) {
    const Ran ran = run_tiny({});
    ASSERT_EQ(ran.code, 0) << ran.err;
    EXPECT_THAT(ran.out, HasSubstr("training cartpole on llvmpipe"));
    EXPECT_THAT(ran.out, HasSubstr("generation 1/2, mean "));
    EXPECT_THAT(ran.out, HasSubstr("generation 2/2, mean "));
    EXPECT_THAT(ran.out, HasSubstr("evaluations/s"));
    EXPECT_THAT(ran.out, HasSubstr("look at it: yolk eval " + (folder_ / "out" / "policy.safetensors").string()));
}

TEST_F(train, quiet_shows_no_progress) {
    const Ran ran = run_tiny({"--quiet"});
    EXPECT_EQ(ran.code, 0) << ran.err;
    EXPECT_THAT(ran.out, ::testing::Not(HasSubstr("generation 1/2")));
    EXPECT_THAT(ran.out, HasSubstr("saved "));
    EXPECT_EQ(run_tiny({"--quiet", "--json"}).lines().size(), 1U);
}

TEST_F(train, an_interrupt_ends_it_and_saves) {
    const Ran ran = run_and_interrupt({"train", "cartpole", "--generations", "100000", "--population", "256",
                                       "--keep-going", "--json", "--out", (folder_ / "out").string()},
                                      only(kLavapipe));
    ASSERT_EQ(ran.code, 0) << ran.err;
    EXPECT_EQ(ran.last()["interrupted"], true);
    EXPECT_GE(ran.last()["generations"], 1);
    EXPECT_LT(ran.last()["generations"], 100000);
    EXPECT_TRUE(std::filesystem::exists(folder_ / "out" / "policy.safetensors"));
}

TEST_F(train, then_eval) {
    ASSERT_EQ(run_tiny({"--quiet"}).code, 0);
    const std::string policy = (folder_ / "out" / "policy.safetensors").string();
    const Ran ran = run_command({"eval", policy, "--episodes", "5", "--seed", "9", "--json"}, only(kLavapipe));
    ASSERT_EQ(ran.code, 0) << ran.err;
    const Json outcome = ran.last();
    EXPECT_EQ(outcome["task"], "cartpole");
    EXPECT_EQ(outcome["episodes"], 5);
    EXPECT_GE(outcome["best_return"], outcome["mean_return"]);
    EXPECT_LE(outcome["worst_return"], outcome["mean_return"]);
    EXPECT_EQ(run_command({"eval", policy, "--episodes", "5", "--seed", "9", "--json"}, only(kLavapipe)).out, ran.out);

    // Cut short by a byte, it is no policy any more.
    const std::string whole = read_text(policy);
    write_text(policy, whole.substr(0, whole.size() - 1));
    const Ran cut = run_command({"eval", policy, "--json"}, only(kLavapipe));
    EXPECT_NE(cut.code, 0);
    EXPECT_EQ(cut.out, "");
    EXPECT_THAT(cut.err, HasSubstr(policy));
}

TEST_F(train, both_vendors_end_where_one_does) {
    const std::string both = std::string(kLavapipe) + ":" + kSwiftShader;
    const std::string out = (folder_ / "both").string();
    const std::vector<std::string> tiny{"train",       "cartpole", "--population", "64", "--generations", "3",
                                        "--max-steps", "30",       "--hidden",     "8",  "--json",        "--quiet"};
    const auto run = [&](std::vector<std::string> more, const std::string& drivers) {
        more.insert(more.begin(), tiny.begin(), tiny.end());
        return run_command(more, only(drivers));
    };
    const Ran one = run({"--out", ""}, kLavapipe);
    ASSERT_EQ(one.code, 0) << one.err;
    const Ran two = run({"--out", out, "--devices", "all", "--audit", "0.5"}, both);
    ASSERT_EQ(two.code, 0) << two.err;
    EXPECT_EQ(two.last()["state_hash"], one.last()["state_hash"]);
    ASSERT_EQ(two.last()["devices"].size(), 2U);
    EXPECT_EQ(two.last()["depends_on_placement"], false);
    const Ran eval = run_command({"eval", out + "/policy.safetensors", "--devices", "1,0", "--json"}, only(both));
    ASSERT_EQ(eval.code, 0) << eval.err;
    const Ran eval_one = run_command({"eval", out + "/policy.safetensors", "--json"}, only(kLavapipe));
    EXPECT_EQ(eval.last()["mean_return"], eval_one.last()["mean_return"]);

    EXPECT_THAT(run({"--devices", "0,0"}, both).err, HasSubstr("twice"));
    EXPECT_THAT(run({"--devices", "0,7"}, both).err, HasSubstr("7"));
    EXPECT_THAT(run({"--devices", "0,,1"}, both).err, HasSubstr("an empty entry"));
    for (const char* share : {"1.5", "-0.1", "nan", "much"}) {
        const Ran bad = run({"--devices", "all", "--audit", share}, both);
        EXPECT_EQ(bad.code, 2) << share << bad.err;
        EXPECT_THAT(bad.err, HasSubstr(share));
    }
}

TEST(check, one_kernel_on_both_devices) {
    const Ran ran = run_command({"check", "--kernel", "noise", "--devices", "all", "--json"},
                                only(std::string(kLavapipe) + ":" + kSwiftShader));
    ASSERT_EQ(ran.code, 0) << ran.err << ran.out;
    ASSERT_EQ(ran.lines().size(), 2U);
    for (const Json& line : ran.lines()) {
        EXPECT_EQ(line["failed"], 0);
        ASSERT_EQ(line["kernels"].size(), 1U);
        EXPECT_EQ(line["kernels"][0]["kernel"], "noise");
        EXPECT_GT(line["kernels"][0]["cases"], 0);
        EXPECT_EQ(line["kernels"][0]["twin_mismatches"], 0);
    }
    EXPECT_NE(ran.lines()[0]["device"], ran.lines()[1]["device"]);
}

// The small form of the documented run: short episodes, population 256, both drivers, two tile configurations, the
// exact twin.
TEST(check, whole_run_gives_the_same_states_everywhere) {
    const Ran ran = run_command({"check", "--run", "cartpole", "--population", "256", "--generations", "4",
                                 "--max-steps", "30", "--devices", "all", "--json"},
                                only(std::string(kLavapipe) + ":" + kSwiftShader));
    ASSERT_EQ(ran.code, 0) << ran.err << ran.out;
    const std::vector<Json> lines = ran.lines();
    ASSERT_EQ(lines.size(), 5U);  // two devices times two configurations, and the outcome
    for (std::size_t i = 0; i < 4; ++i)
        EXPECT_EQ(lines[i]["state_hashes"], lines.back()["twin_state_hashes"]) << lines[i];
    EXPECT_EQ(lines.back()["failed"], 0);
    EXPECT_EQ(lines.back()["runs"], 4);
}

}  // namespace
}  // namespace yolk::cli
