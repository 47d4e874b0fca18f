// SPDX-License-Identifier: Apache-2.0
// Prompts of model calls as parameters, against a server on loopback that answers by rule.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>

#include "fixtures.hpp"
#include "text_fixtures.hpp"
#include "text_systems.hpp"
#include "yolk/ablate.hpp"
#include "yolk/graph.hpp"
#include "yolk/internal/core/file.hpp"
#include "yolk/internal/hyper/executor.hpp"
#include "yolk/internal/hyper/state_file.hpp"
#include "yolk/internal/testing/device_test.hpp"

namespace yolk::hyper {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::UnorderedElementsAre;

/// A model that shouts where it is told to, and refuses to speak of "nothing".
chat_server::Reply shouts_if_told(const Json& request) {
    if (said(request) == "nothing") return {.status = 400};
    const bool loud = messages_of(request).find("shout") != std::string::npos;
    return says(said(request) + (loud ? "!" : "."));
}

struct Prompted {
    Hyperfunction<TextParameter> prompt = hyperfunction("prompt", TextParameter{"be quiet"},
                                                        [](const Traced& p, const Traced& q) {
                                                            return model_call({{"system", p}, {"user", q}});
                                                        },
                                                        {.optimize = true});
    System system{"prompted", [prompt = prompt](const Inputs& in) { return prompt(in["q"]); }};
    std::vector<Example> examples{{{{"q", "hey"}}, "hey!"}, {{{"q", "nothing"}}, "!"}, {{{"q", "you"}}, "you!"}};
    explicit Prompted(const ModelServer& server) {
        EXPECT_OK(system.add(prompt));
        system.use(server.models());
    }
};

TEST(text_parameters_of_models, are_tried_without_touching_the_system) {
    const ModelServer server(shouts_if_told);
    Prompted prompted(server);
    ASSERT_OK_AND_ASSIGN(const auto quiet,
                         prompted.system.evaluate_with({}, prompted.examples, exact_match(), {.capture = true}));
    EXPECT_EQ(quiet[0].score, 0.0);
    ASSERT_EQ(quiet[0].records.size(), 1U);
    EXPECT_EQ(quiet[0].records[0].inputs, Value(*Record::create({{"q", "hey"}})));
    EXPECT_EQ(quiet[0].records[0].output, Value("hey."));
    ASSERT_EQ(quiet[0].records[0].calls.size(), 1U) << "the model's call inside is the hyperfunction's";
    EXPECT_EQ(quiet[0].records[0].calls[0].name, "prompt");
    EXPECT_EQ(quiet[0].records[0].calls[0].inputs, Value(*Record::create({{"q", "hey"}})));
    EXPECT_EQ(quiet[0].records[0].calls[0].output, Value("hey."));
    EXPECT_THAT(server.asked(), UnorderedElementsAre("system: be quiet | user: hey", "system: be quiet | user: nothing",
                                                     "system: be quiet | user: you"));
    ASSERT_OK_AND_ASSIGN(const auto loud, prompted.system.evaluate_with({{"prompt", "shout"}}, prompted.examples,
                                                                        exact_match(), {.capture = true}));
    EXPECT_EQ(loud[0].score + loud[2].score, 2.0);
    ASSERT_TRUE(loud[1].error);
    EXPECT_THAT(*loud[1].error, AllOf(HasSubstr("example 1"), HasSubstr("400")));
    ASSERT_EQ(loud[1].records.size(), 1U);
    EXPECT_EQ(loud[1].records[0].output, Value(""));
    ASSERT_FALSE(loud[1].records[0].calls.empty());
    EXPECT_FALSE(loud[1].records[0].calls[0].output) << "it failed";
    EXPECT_EQ(prompted.system.parameters().find("prompt")->text, "be quiet");
}

TEST(text_parameters_of_models, are_saved_without_the_key_and_answer_when_loaded) {
    const ModelServer server(shouts_if_told);
    const std::filesystem::path path =
        std::filesystem::temp_directory_path() / ("yolk-prompted-" + std::to_string(::getpid()));
    Prompted tuned(server);
    ASSERT_OK(tuned.system.parameters().set_text("prompt", "shout"));
    ASSERT_OK(tuned.system.call({{"q", "hey"}}));
    ASSERT_OK(save_state(tuned.system, path));
    ASSERT_OK_AND_ASSIGN(const std::vector<std::byte> bytes, read_file(path, 1U << 20U));
    const std::string_view saved(reinterpret_cast<const char*>(bytes.data()), bytes.size());
    EXPECT_EQ(saved.find(kModelKey), std::string_view::npos);
    EXPECT_EQ(saved.find(kModelKeyVariable), std::string_view::npos);
    EXPECT_NE(saved.find("shout"), std::string_view::npos);

    Prompted fresh(server);
    ASSERT_OK(load_state(fresh.system, path));
    EXPECT_EQ(fresh.system.call({{"q", "hey"}}).value(), Value("hey!"));
    std::filesystem::remove(path);
}

TEST(text_parameters_of_models, are_worth_what_ablation_says) {
    const ModelServer server(shouts_if_told);
    Prompted prompted(server);
    ASSERT_OK(prompted.system.parameters().set_text("prompt", "shout"));
    const std::vector<Example> examples{prompted.examples[0], prompted.examples[2]};
    for (const Ablation how : {Ablation::Zero, Ablation::Reset}) {
        ASSERT_OK_AND_ASSIGN(const auto rows, ablate(prompted.system, examples, exact_match(), {.how = how}));
        ASSERT_EQ(rows.size(), 1U);
        EXPECT_EQ(rows[0].base, 1.0);
        EXPECT_EQ(rows[0].reward, 0.0);
    }
}

TEST(text_parameters_of_models, get_feedback_and_edits) {
    const auto prompt = hyperfunction("prompt", TextParameter{"Say"}, [](const Traced& p, const Traced& q) {
        return format("{} {}", {p, q});
    });
    System system("s", [=](const Inputs& in) { return prompt(in["q"]); });
    ASSERT_OK_AND_ASSIGN(const TracedExample traced, system.trace({{{"q", "it"}}, {}}));
    ASSERT_OK_AND_ASSIGN(const Graph back,
                         pullback(traced.graph, {.inputs = {std::vector<std::string>{}}, .parameters = {{"prompt"}}}));
    EXPECT_THAT(call(back, {.inputs = {"it", "be kind"}, .parameters = {"Tell"}}).value(),
                ElementsAre(Value("Tell it"), Value("be kind")));
    ASSERT_OK_AND_ASSIGN(const Graph along, pushforward(traced.graph));
    EXPECT_THAT(call(along, {.inputs = {"it", "me"}, .parameters = {"Tell"}}).value(),
                ElementsAre(Value("Tell it"), Value(" me")))
        << "the prompt does not move";
}

}  // namespace
}  // namespace yolk::hyper
