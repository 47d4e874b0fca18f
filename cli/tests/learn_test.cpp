// SPDX-License-Identifier: Apache-2.0
// Runs over data sets and of files that describe runs, as a user makes them.
#include <gmock/gmock.h>

#include <cmath>
#include <fstream>

#include "command.hpp"

namespace yolk::cli {
namespace {

using ::testing::HasSubstr;

class learn_command : public InFolder {
   protected:
    void SetUp() override {
        InFolder::SetUp();
        // Three rings around a point: no line separates them.
        std::ofstream file(at("rings.csv"));
        file << "x,y,kind\n";
        const char* const names[] = {"inner", "middle", "outer"};
        for (int i = 0; i < 300; ++i) {
            const double radius = 1.0 + 2.0 * (i % 3), angle = 2.399963 * i;
            file << 100.0 + radius * std::cos(angle) << "," << radius * std::sin(angle) << "," << names[i % 3] << "\n";
        }
    }
    [[nodiscard]] std::string at(const std::string& name) const { return (folder_ / name).string(); }
    [[nodiscard]] Ran run(std::vector<std::string> arguments, const char* driver = kLavapipe) const {
        return run_command(arguments, only(driver));
    }
    [[nodiscard]] Ran train(std::vector<std::string> more, const char* driver = kLavapipe) const {
        std::vector<std::string> all{"train", at("rings.csv"), "--hidden", "16",      "--activation",
                                     "tanh",  "--population",  "64",       "--batch", "64",
                                     "--lr",  "0.1",           "--json",   "--quiet"};
        all.insert(all.end(), more.begin(), more.end());
        return run(all, driver);
    }
};

TEST_F(learn_command, learns_judges_predicts_and_replays) {
    const Ran trained = train({"--generations", "120", "--out", at("run")});
    ASSERT_EQ(trained.code, 0) << trained.err;
    EXPECT_GE(trained.last()["test"]["accuracy"], 0.9);
    EXPECT_EQ(trained.last()["training_rows"], 210);
    for (const char* const name : {"model.safetensors", "metrics.jsonl", "checkpoint.yolk", "log.yolk", "yolk.toml"})
        EXPECT_TRUE(std::filesystem::exists(folder_ / "run" / name)) << name;

    const Ran judged = run({"eval", at("run/model.safetensors"), "--json"});
    ASSERT_EQ(judged.code, 0) << judged.err;
    EXPECT_EQ(judged.last()["test"], trained.last()["test"]);
    const Ran other = run({"eval", at("run/model.safetensors"), "--data", at("rings.csv"), "--json"});
    EXPECT_EQ(other.last()["test"]["rows"], 300);

    std::ofstream(at("new.csv")) << "x,y\n101,0\n100,-6\n";
    const Ran predicted = run({"predict", at("run/model.safetensors"), at("new.csv")});
    ASSERT_EQ(predicted.code, 0) << predicted.err;
    EXPECT_THAT(predicted.out, HasSubstr("label,probability\ninner,"));
    EXPECT_THAT(predicted.out, HasSubstr("\nouter,"));

    const Ran replayed = run({"replay", at("run"), "--generation", "120", "--out", at("again.safetensors"), "--json"});
    ASSERT_EQ(replayed.code, 0) << replayed.err;
    EXPECT_EQ(replayed.last()["generation"], 120);
    EXPECT_EQ(run({"eval", at("again.safetensors"), "--data", at("rings.csv"), "--json"}).code, 0);
}

TEST_F(learn_command, same_state_on_both_drivers_by_flags_and_by_a_file) {
    const Ran first = train({"--generations", "3", "--out", at("a")});
    const Ran other = train({"--generations", "3", "--out", at("b")}, kSwiftShader);
    ASSERT_EQ(first.code, 0) << first.err;
    EXPECT_EQ(first.last()["state_hash"], other.last()["state_hash"]);
    const Ran by_file = run({"train", at("a/yolk.toml"), "--out", at("c"), "--json", "--quiet"});
    ASSERT_EQ(by_file.code, 0) << by_file.err;
    EXPECT_EQ(by_file.last()["state_hash"], first.last()["state_hash"]);
    const Ran longer =
        run({"train", at("a/yolk.toml"), "--resume", "--set", "search.generations=5", "--json", "--quiet"});
    ASSERT_EQ(longer.code, 0) << longer.err;
    EXPECT_EQ(longer.last()["resumed_from"], 3);
    EXPECT_EQ(longer.last()["state_hash"], train({"--generations", "5", "--out", at("d")}).last()["state_hash"]);
}

TEST_F(learn_command, init_and_an_environment) {
    ASSERT_EQ(run({"init", at("e.toml"), "--for", "environment"}).code, 0);
    const Ran refused = run({"init", at("e.toml")});
    EXPECT_EQ(refused.code, 2);
    EXPECT_THAT(refused.err, HasSubstr("is there already"));
    const Ran trained =
        run({"train", at("e.toml"), "--population", "64", "--generations", "2", "--out", at("e"), "--json", "--quiet"});
    ASSERT_EQ(trained.code, 0) << trained.err;
    const Ran plain =
        run({"train", "cartpole", "--population", "64", "--generations", "2", "--out", at("p"), "--json", "--quiet"});
    EXPECT_EQ(trained.last()["state_hash"], plain.last()["state_hash"]);
    EXPECT_THAT(read_text(at("e/yolk.toml")), HasSubstr("population = 64"));
}

TEST_F(learn_command, mistakes_have_a_place) {
    const auto refused = [&](const std::vector<std::string>& arguments, const char* part) {
        const Ran ran = run(arguments);
        EXPECT_EQ(ran.code, 2) << part;
        EXPECT_THAT(ran.err, HasSubstr(part));
    };
    std::ofstream(at("y.toml")) << "version = 1\n[data]\nsorce = \"digits\"\n";
    refused({"train", at("y.toml")}, "y.toml', line 3: 'sorce' is no key of [data]. Did you mean 'source'?");
    refused({"train", "cartpole", "--batch", "3"}, "--batch has no effect here: it goes with a data set");
    refused({"train", at("rings.csv"), "--episodes", "3"},
            "--episodes: 'environment.episodes' is of runs over an environment");
    refused({"train", at("rings.csv"), "--set", "lr"}, "KEY=VALUE is needed");
    refused({"train", at("rings.csv"), "--label", "colour", "--out", ""}, "its columns are x, y, kind");
    std::ofstream(at("hole.csv")) << "a,b\n1,x\n,y\n";
    refused({"train", at("hole.csv"), "--out", at("none")}, "hole.csv', line 3, column 1 ('a') is empty");
    EXPECT_FALSE(std::filesystem::exists(folder_ / "none")) << "nothing was begun";
}

}  // namespace
}  // namespace yolk::cli
