// SPDX-License-Identifier: Apache-2.0
// Tuning an encoder, as a user does it.
#include <fmt/format.h>
#include <gmock/gmock.h>

#include <sstream>

#include "command.hpp"

namespace yolk::cli {
namespace {

using ::testing::HasSubstr;

class finetune_command : public InFolder {
   protected:
    void SetUp() override {
        InFolder::SetUp();
        const std::vector<std::string> words{"cat", "mat",    "play",      "train", "model", "kernel",
                                             "gpu", "vector", "evolution", "fast",  "sat",   "able"};
        std::string lines;
        for (std::size_t i = 0; i < words.size(); ++i)
            lines += fmt::format("the {0}\t{0} on a {0} and a {1}\n", words[i], words[(i + 5) % words.size()]);
        write_text(at("pairs.tsv"), lines);
    }
    [[nodiscard]] static std::string model() { return std::string(YOLK_MODELS_FOLDER) + "/bert"; }
    [[nodiscard]] std::string at(const std::string& name) const { return (folder_ / name).string(); }
    [[nodiscard]] Ran run(const std::vector<std::string>& arguments, const char* driver = kLavapipe) const {
        return run_command(arguments, only(driver));
    }
    [[nodiscard]] std::vector<std::string> call(const std::vector<std::string>& more) const {
        std::vector<std::string> all{"finetune", model(), "--pairs", at("pairs.tsv")};
        std::istringstream words(
            "--held-out 0.2 --batch 4 --query-tokens 8 --document-tokens 16 --population 8 --sigma 0.05 --lr 0.02 "
            "--determinism exact --held-out-every 2 --adapter-rank 4");
        for (std::string word; words >> word;) all.push_back(word);
        all.insert(all.end(), more.begin(), more.end());
        return all;
    }
    [[nodiscard]] Ran tune(const std::vector<std::string>& more, const char* driver = kLavapipe) const {
        return run(call(more), driver);
    }
};

TEST_F(finetune_command, tunes_embeds_and_replays_with_one_hash_on_both_drivers) {
    const Ran tuned = tune({"--generations", "3", "--out", at("run"), "--merged", at("merged"), "--json"});
    ASSERT_EQ(tuned.code, 0) << tuned.err;
    ASSERT_EQ(tuned.lines().size(), 4U) << "three generations and the outcome";
    EXPECT_EQ(tuned.lines()[0].at("update_norm"), 0.0);
    EXPECT_GT(tuned.lines()[2].at("drift"), 0.0);
    const Json outcome = tuned.last();
    for (const char* const name : {"before", "after", "adapted"}) EXPECT_LE(outcome.at(name).at("test"), 1.0) << name;
    EXPECT_EQ(outcome.at("training_pairs"), 7);
    const Ran other = tune({"--generations", "3", "--out", at("other"), "--json", "--quiet"}, kSwiftShader);
    ASSERT_EQ(other.code, 0) << other.err;
    EXPECT_EQ(other.last().at("state_hash"), outcome.at("state_hash"));
    EXPECT_EQ(read_text(at("run/adapter_model.safetensors")), read_text(at("other/adapter_model.safetensors")));

    write_text(at("texts"), "the cat\n");
    const auto embedded = [&](std::vector<std::string> arguments) {
        arguments.insert(arguments.begin(), "embed");
        arguments.insert(arguments.end(), {"--input", at("texts"), "--json", "--determinism", "exact"});
        const Ran ran = run(arguments);
        EXPECT_EQ(ran.code, 0) << ran.err;
        return ran.out;
    };
    // The held-out queries may choose the model as it was, so what is compared is the last generation.
    EXPECT_THAT(embedded({at("merged")}), HasSubstr("\"embedding\""));
    EXPECT_THAT(embedded({model(), "--adapter", at("run")}), HasSubstr("\"embedding\""));

    const Ran replayed = run({"replay", at("run"), "--out", at("again"), "--json"});
    ASSERT_EQ(replayed.code, 0) << replayed.err;
    EXPECT_EQ(replayed.last().at("generation"), 3);
    const Ran on_host = run({"replay", at("run"), "--twin", "--json"});
    ASSERT_EQ(on_host.code, 0) << on_host.err;
    EXPECT_EQ(on_host.last().at("state_hash"), replayed.last().at("state_hash"));
    EXPECT_GT(replayed.last().at("update_norm"), 0.0);
    EXPECT_NE(embedded({model(), "--adapter", at("again")}), embedded({model()}));
}

TEST_F(finetune_command, a_killed_run_is_resumed_to_the_same_hash) {
    const Ran whole = tune({"--generations", "4", "--out", at("whole"), "--json", "--quiet"});
    ASSERT_EQ(whole.code, 0) << whole.err;
    // Killed when its second generation has been told; what the checkpoint has then is resumed.
    static_cast<void>(
        run_and_interrupt(call({"--generations", "4", "--out", at("killed"), "--json", "--checkpoint-every", "1"}),
                          only(kLavapipe), {.number = 9, .lines = 2}));
    ASSERT_FALSE(std::filesystem::exists(folder_ / "killed" / "adapter_model.safetensors")) << "it came to its end";
    const Ran resumed = tune({"--generations", "4", "--out", at("killed"), "--resume", "--json", "--quiet"});
    ASSERT_EQ(resumed.code, 0) << resumed.err;
    EXPECT_GE(resumed.last().at("resumed_from"), 1);
    EXPECT_EQ(resumed.last().at("state_hash"), whole.last().at("state_hash"));
    EXPECT_EQ(read_text(at("killed/adapter_model.safetensors")), read_text(at("whole/adapter_model.safetensors")));
}

TEST_F(finetune_command, a_new_run_sets_the_old_one_aside) {
    ASSERT_EQ(tune({"--generations", "1", "--out", at("run"), "--json", "--quiet"}).code, 0);
    const Ran again = tune({"--generations", "1", "--out", at("run")});
    ASSERT_EQ(again.code, 0) << again.err;
    EXPECT_THAT(again.out, HasSubstr("NDCG@10 of 2 pairs in the test and 3 held out"));
    EXPECT_THAT(again.out, HasSubstr("--adapter " + at("run")));
    EXPECT_TRUE(std::filesystem::exists(folder_ / "run" / "previous-1" / "adapter_model.safetensors"));
}

TEST_F(finetune_command, mistakes_are_named) {
    const auto refused = [&](const Ran& ran, const std::string& why) {
        EXPECT_EQ(ran.code, 2) << why;
        EXPECT_THAT(ran.err, HasSubstr(why));
    };
    refused(run({"finetune", model()}), "--pairs");
    write_text(at("bad.tsv"), "a\tb\nc\n");
    refused(run({"finetune", model(), "--pairs", at("bad.tsv")}), "line 2 has no tabulator");
    refused(run({"finetune", model(), "--pairs", at("pairs.tsv"), "--adapter-rank", "25"}),
            "24 x 24; it must be from 1 to 24");
    refused(tune({"--audit", "0.5"}), "--audit");
    refused(run({"finetune", at("none"), "--pairs", at("pairs.tsv")}), "is no folder");
    write_text(at("unrelated"), "good\n\xFF\n");
    refused(tune({"--unrelated", at("unrelated")}), "Line 2 of '" + at("unrelated") + "' is not UTF-8");
    EXPECT_THAT(run({"embed", model(), "--input", at("pairs.tsv"), "--adapter", at("no")}).err,
                HasSubstr("adapter_config.json"));
}

}  // namespace
}  // namespace yolk::cli
