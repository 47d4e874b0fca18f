// SPDX-License-Identifier: Apache-2.0
// Texts that a decoder continues, as a user asks for them.
#include <gmock/gmock.h>

#include "command.hpp"

namespace yolk::cli {
namespace {

using ::testing::HasSubstr;

class generate_command : public InFolder {
   protected:
    [[nodiscard]] static std::string model() { return std::string(YOLK_MODELS_FOLDER) + "/llama"; }
    [[nodiscard]] std::string at(const std::string& name) const { return (folder_ / name).string(); }
    [[nodiscard]] Ran run(std::vector<std::string> arguments, const char* driver = kLavapipe) const {
        arguments.insert(arguments.begin(), {"generate", model()});
        return run_command(arguments, only(driver));
    }
};

TEST_F(generate_command, greedy_tokens_are_those_of_transformers) {
    const Json stored = Json::parse(read_text(std::string(YOLK_MODELS_FOLDER) + "/decoders.json")).at("llama");
    write_text(at("prompts"), "The cat sat on the mat, 1234\nthe\n");
    const Ran json = run({"--input", at("prompts"), "--tokens", "24", "--json"});
    ASSERT_EQ(json.code, 0) << json.err;
    ASSERT_EQ(json.lines().size(), 2U);
    EXPECT_EQ(json.lines()[0].at("tokens"), stored.at("greedy"));
    EXPECT_EQ(json.lines()[1].at("prompt"), 1);
    EXPECT_EQ(json.lines()[1].at("ended"), false);
    const Ran plain = run({"--prompt", "The cat sat on the mat, 1234", "--tokens", "4"});
    EXPECT_EQ(plain.out, json.lines()[0].at("text").get<std::string>().substr(0, plain.out.size() - 1) + "\n");
    EXPECT_GE(plain.out.size(), 5U);
}

TEST_F(generate_command, exact_mode_has_one_text_on_both_drivers) {
    std::vector<std::string> outputs;
    for (const char* const driver : {kLavapipe, kSwiftShader}) {
        const Ran ran = run({"--prompt", "the cat", "--tokens", "6", "--temperature", "2", "--top-k", "50", "--seed",
                             "7", "--population", "4", "--sigma", "0.1", "--determinism", "exact", "--json"},
                            driver);
        ASSERT_EQ(ran.code, 0) << ran.err;
        ASSERT_EQ(ran.lines().size(), 4U);
        outputs.push_back(ran.out);
    }
    EXPECT_EQ(outputs[0], outputs[1]);
}

TEST_F(generate_command, mistakes_are_named) {
    EXPECT_THAT(run({"--prompt", "the", "--tokens", "200"}).err,
                HasSubstr("and 200 are to follow; the model takes 96"));
    EXPECT_THAT(run({"--prompt", "the", "--tokens", "0"}).err, HasSubstr("0 tokens"));
    EXPECT_THAT(run({"--prompt", "the", "--temperature", "-1"}).err, HasSubstr("The temperature is -1"));
    EXPECT_THAT(run({"--prompt", "the", "--top-p", "0"}).err, HasSubstr("top-p is 0"));
    EXPECT_THAT(run({"--prompt", "the", "--population", "3"}).err, HasSubstr("3 members"));
    EXPECT_THAT(run({"--prompt", "the", "--population", "4", "--perturb", "none"}).err, HasSubstr("'none'"));
    EXPECT_THAT(run({"--prompt", "the", "--sigma", "1"}).err, HasSubstr("--population"));
    EXPECT_THAT(run({"--prompt", "the", "--input", at("none")}).err, HasSubstr("--prompt"));
    EXPECT_THAT(run_command({"generate", at("none"), "--prompt", "the"}, only(kLavapipe)).err,
                HasSubstr("none' is no folder"));
}

}  // namespace
}  // namespace yolk::cli
