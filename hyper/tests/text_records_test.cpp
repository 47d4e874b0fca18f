// SPDX-License-Identifier: Apache-2.0
// What reflection reads of an example, in the forms in which systems use a text: the pages' and others.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "fixtures.hpp"
#include "prompt_toys.hpp"
#include "text_fixtures.hpp"
#include "yolk/internal/hyper/control.hpp"
#include "yolk/internal/testing/device_test.hpp"
#include "yolk/optimize.hpp"
#include "yolk/system.hpp"

namespace yolk::hyper::prompts {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using ::testing::SizeIs;

Value record(Record::Fields fields) { return *Record::create(std::move(fields)); }

/// Answers with its messages; refuses "bad".
chat_server::Reply repeats(const Json& request) {
    return said(request) == "bad" ? chat_server::refuse(400, "not that") : says("<" + messages_of(request) + ">");
}

Hyperfunction<TextParameter> as_it_is(const std::string& name, const std::string& text) {
    return hyperfunction(name, TextParameter{text}, [](const Traced& p) { return p; }, {.optimize = true});
}

/// Of a run with each way of calling the host, which have the same records.
class text_records : public ::testing::TestWithParam<bool> {
   protected:
    std::vector<TextScore> scores_of(const System::Function& function, std::vector<Example> examples,
                                     const Metric& metric = exact_match()) {
        System system("records", function);
        system.use(server_.models());
        system.overlap_host_calls(GetParam());
        const Result<Value> first = system.call(examples.front().inputs);  // registers
        EXPECT_TRUE(first) << (first ? "" : first.error().message);
        auto scores = system.evaluate_with({}, examples, metric, {.capture = true, .failed_score = -1.0});
        EXPECT_TRUE(scores) << (scores ? "" : scores.error().message);
        return scores ? *std::move(scores) : std::vector<TextScore>();
    }
    static std::vector<Example> asking(const std::vector<std::string>& questions) {
        std::vector<Example> examples;
        for (const std::string& question : questions) examples.push_back({{{"mail", question}}, "?"});
        return examples;
    }
    ModelServer server_{&repeats};
};

// docs/prompts.md
TEST_P(text_records, of_a_text_that_a_call_outside_is_given_have_that_call) {
    const auto prompt = as_it_is("prompt", "Which?");
    Metric metric = exact_match();
    metric.feedback = [](const Value&, const Value&, double) { return std::string("Wrong."); };
    const auto scores = scores_of(
        [=](const Inputs& in) {
            return model_call({{"system", prompt()}, {"user", in["mail"]}}, {.temperature = 0.2});
        },
        asking({"hello", "bad"}), metric);
    ASSERT_THAT(scores, SizeIs(2));
    ASSERT_THAT(scores[0].records, SizeIs(1));
    const TextRecord& made = scores[0].records[0];
    EXPECT_EQ(made.component, "prompt");
    EXPECT_EQ(made.inputs, record({{"mail", "hello"}}));
    ASSERT_THAT(made.calls, SizeIs(1));
    EXPECT_EQ(made.calls[0].name, "model_call");
    EXPECT_EQ(made.calls[0].inputs, record({{"system", "Which?"}, {"user", "hello"}}));
    EXPECT_EQ(made.calls[0].output, Value("<system: Which? | user: hello>"));
    EXPECT_EQ(made.output, made.calls[0].output);
    EXPECT_EQ(made.score, 0.0);
    EXPECT_EQ(made.feedback, "Wrong.");

    ASSERT_THAT(scores[1].records, SizeIs(1)) << "of a call that failed";
    const TextRecord& failed = scores[1].records[0];
    EXPECT_EQ(failed.inputs, record({{"mail", "bad"}}));
    ASSERT_THAT(failed.calls, SizeIs(1));
    EXPECT_EQ(failed.calls[0].inputs, record({{"system", "Which?"}, {"user", "bad"}}));
    EXPECT_FALSE(failed.calls[0].output);
    EXPECT_EQ(failed.output, Value(""));
    EXPECT_EQ(failed.score, -1.0);
    EXPECT_THAT(failed.feedback, HasSubstr("not that"));
}

// docs/hyper.md
TEST_P(text_records, of_a_text_that_is_filled_in_have_the_calls_that_are_given_what_was_made_of_it) {
    const auto router = hyperfunction("router", TextParameter{"Which department?"},
                                      [](const Traced& prompt, const Traced& mail) {
                                          return format("{}\n\n{}", {prompt, mail});
                                      },
                                      {.optimize = true});
    const auto scores = scores_of(
        [=](const Inputs& in) {
            return model_call({{"user", router(in["mail"])}}, {.model = "toy"});
        },
        asking({"hello"}));
    ASSERT_THAT(scores[0].records, SizeIs(1));
    const TextRecord& made = scores[0].records[0];
    EXPECT_EQ(made.inputs, record({{"mail", "hello"}}));
    ASSERT_THAT(made.calls, SizeIs(1)) << "the one that only fills it in tells nothing";
    EXPECT_EQ(made.calls[0].name, "model_call of toy");
    EXPECT_EQ(made.calls[0].inputs, record({{"user", "Which department?\n\nhello"}}));
}

TEST_P(text_records, of_two_texts_have_each_its_own_calls) {
    const auto first = as_it_is("first", "Shorten");
    const auto second = as_it_is("second", "Answer");
    const auto unused = as_it_is("unused", "Never");
    const auto scores = scores_of(
        [=](const Inputs& in) {
            static_cast<void>(unused());
            const Tag tag("short");
            const Traced shorter = model_call({{"system", first()}, {"user", in["mail"]}});
            return model_call({{"system", second()}, {"user", shorter}});
        },
        asking({"x"}));
    ASSERT_THAT(scores[0].records, SizeIs(2)) << "none of the text that nothing reads";
    EXPECT_EQ(scores[0].records[0].component, "first");
    ASSERT_THAT(scores[0].records[0].calls, SizeIs(1)) << "what a model said is not the text any more";
    EXPECT_EQ(scores[0].records[0].calls[0].name, "model_call [short]");
    EXPECT_EQ(scores[0].records[0].calls[0].inputs, record({{"system", "Shorten"}, {"user", "x"}}));
    EXPECT_EQ(scores[0].records[1].component, "second");
    ASSERT_THAT(scores[0].records[1].calls, SizeIs(1));
    EXPECT_EQ(scores[0].records[1].calls[0].inputs,
              record({{"system", "Answer"}, {"user", "<system: Shorten | user: x>"}}));
    EXPECT_EQ(scores[0].records[0].output, scores[0].records[1].output);
}

TEST_P(text_records, of_a_text_that_is_used_twice_are_one_with_both_calls) {
    const auto prompt = as_it_is("prompt", "P");
    const auto scores = scores_of(
        [=](const Inputs& in) {
            const Traced a = model_call({{"system", prompt()}, {"user", in["mail"]}});
            const Traced b = model_call({{"system", concat({prompt(), Traced("!")})}, {"user", a}});
            return format("{} {}", {a, b});
        },
        asking({"x", "bad"}));
    ASSERT_THAT(scores[0].records, SizeIs(1));
    ASSERT_THAT(scores[0].records[0].calls, SizeIs(2));
    EXPECT_EQ(scores[0].records[0].calls[0].output, Value("<system: P | user: x>"));
    EXPECT_EQ(scores[0].records[0].calls[1].inputs, record({{"system", "P!"}, {"user", "<system: P | user: x>"}}));
    ASSERT_THAT(scores[1].records, SizeIs(1));
    ASSERT_THAT(scores[1].records[0].calls, SizeIs(1)) << "the second was never made";
    EXPECT_FALSE(scores[1].records[0].calls[0].output);
}

TEST_P(text_records, of_a_text_have_host_functions_that_are_given_it) {
    const auto prompt = as_it_is("prompt", "P");
    const auto tool = hyperfunction("tool", NoParameters{},
                                    [](const std::string& how, const std::string& what) { return how + ":" + what; });
    const auto scores = scores_of([=](const Inputs& in) { return tool(prompt(), in["mail"]); }, asking({"x"}));
    ASSERT_THAT(scores[0].records, SizeIs(1));
    ASSERT_THAT(scores[0].records[0].calls, SizeIs(1));
    EXPECT_EQ(scores[0].records[0].calls[0].name, "tool");
    EXPECT_EQ(scores[0].records[0].calls[0].inputs, record({{"prompt", "P"}, {"mail", "x"}}));
    EXPECT_EQ(scores[0].records[0].calls[0].output, Value("P:x"));
}

TEST_P(text_records, of_an_answer_that_is_made_of_the_text_without_a_call_have_none) {
    const auto prompt = as_it_is("prompt", "P");
    const auto scores = scores_of(
        [=](const Inputs& in) {
            return format("{} {}", {prompt(), in["mail"]});
        },
        asking({"x"}));
    ASSERT_THAT(scores[0].records, SizeIs(1));
    EXPECT_THAT(scores[0].records[0].calls, IsEmpty());
    EXPECT_EQ(scores[0].records[0].output, Value("P x"));
}

TEST_P(text_records, have_the_calls_of_loops_and_branches_that_use_the_text) {
    const auto prompt = as_it_is("prompt", "P");
    const auto other = as_it_is("other", "O");
    const auto scores = scores_of(
        [=](const Inputs& in) {
            const Traced p = prompt();
            const Traced o = other();
            const auto looped = while_loop(
                std::vector<Traced>{Traced(0.0), in["mail"]},
                [](std::span<const Traced> at) { return less(at[0], Traced(2.0)); },
                [&](std::span<const Traced> at) {
                    return std::vector<Traced>{at[0] + Traced(1.0), model_call({{"system", p}, {"user", at[1]}})};
                },
                5);
            return switch_on(match(in["mail"], Traced("x")),
                             {[&] { return Traced("no"); },
                              [&] {
                                  return model_call({{"system", o}, {"user", looped[1]}});
                              }});
        },
        asking({"x", "bad"}));
    ASSERT_THAT(scores[0].records, SizeIs(2));
    ASSERT_THAT(scores[0].records[0].calls, SizeIs(2));
    EXPECT_EQ(scores[0].records[0].component, "prompt");
    EXPECT_EQ(scores[0].records[0].calls[0].inputs, record({{"system", "P"}, {"user", "x"}}));
    EXPECT_EQ(scores[0].records[0].calls[1].inputs, record({{"system", "P"}, {"user", "<system: P | user: x>"}}));
    ASSERT_THAT(scores[0].records[1].calls, SizeIs(1));
    EXPECT_EQ(scores[0].records[1].component, "other");
    EXPECT_EQ(scores[0].records[1].calls[0].output, scores[0].records[1].output);
    // The first call inside the loop fails, and the branch is never reached.
    ASSERT_THAT(scores[1].records, SizeIs(1));
    EXPECT_EQ(scores[1].records[0].component, "prompt");
    ASSERT_THAT(scores[1].records[0].calls, SizeIs(1));
    EXPECT_FALSE(scores[1].records[0].calls[0].output);
}

INSTANTIATE_TEST_SUITE_P(calls, text_records, ::testing::Bool(),
                         [](const auto& tested) { return tested.param ? "at_the_same_time" : "in_order"; });

/// What a reflecting model is asked, over a whole search.
TEST(text_records_of_a_search, reflection_reads_inputs_calls_answer_score_and_feedback) {
    const ModelServer model(&repeats);
    const ModelServer reflecting([](const Json&) { return says("```\nBetter\n```"); });
    const auto prompt = as_it_is("prompt", "Which?");
    System system("router", [=](const Inputs& in) {
        return model_call({{"system", prompt()}, {"user", in["mail"]}}, {.temperature = 0.2});
    });
    system.use(model.models());
    Metric metric([](const Value&, const Value&) { return 0.25; });
    metric.feedback = [](const Value&, const Value& expected, double) { return "It is for " + *expected.text(); };
    OptimizeOptions options;
    options.text.emplace();
    options.text->reflector = Models().otherwise(reflecting.model());
    options.text->gepa.iterations = 1;
    const std::vector<Example> examples{{{{"mail", "My invoice is wrong"}}, "billing"}};
    ASSERT_OK(system.optimize(examples, metric, options));
    const std::vector<std::string> asked = reflecting.asked();
    ASSERT_THAT(asked, SizeIs(1));
    EXPECT_THAT(asked[0], HasSubstr("# Example 1\n## Inputs\n### mail\nMy invoice is wrong\n\n"
                                    "## Call 1: model_call\n### system\n(this instruction, as it is)\n\n"
                                    "### user\nMy invoice is wrong\n\n"
                                    "### what it gave\n<system: Which? | user: My invoice is wrong>\n\n"
                                    "## Generated Outputs\n<system: Which? | user: My invoice is wrong>\n\n"
                                    "## Score\n0.25\n\n## Feedback\nIt is for billing"));
}

}  // namespace
}  // namespace yolk::hyper::prompts
