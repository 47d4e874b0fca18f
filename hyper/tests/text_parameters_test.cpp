// SPDX-License-Identifier: Apache-2.0
// Groups that are texts: what a set takes, what bodies get, and that graphs do not hold them.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <future>

#include "fixtures.hpp"
#include "text_systems.hpp"
#include "yolk/graph.hpp"
#include "yolk/internal/hyper/control.hpp"
#include "yolk/internal/testing/device_test.hpp"

namespace yolk::hyper {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using namespace std::chrono_literals;

Hyperfunction<TextParameter> traced_prompt() {
    return hyperfunction("prompt", TextParameter{"Say"}, [](const Traced& prompt, const Traced& x) {
        return format("{} {}", {prompt, x});
    });
}

TEST(text_parameters, a_set_takes_texts_and_refuses_what_is_none) {
    ParameterSet set;
    ASSERT_OK(set.add({.name = "p", .shape = {0}, .is_text = true, .most_bytes = 4}, "abc"));
    ASSERT_OK(set.add({.name = "w", .shape = {1, 2}}, Tensor::filled({1, 2}, 1.0F)));
    EXPECT_EQ(set.find("p")->value(), Value("abc"));
    ASSERT_OK(set.set_text("p", "d\xc3\xa4"));
    EXPECT_EQ(set.find("p")->value(), Value("d\xc3\xa4"));
    EXPECT_EQ(set.find("p")->initial_value(), Value("abc"));
    EXPECT_OK(set.set_text("p", ""));

    EXPECT_THAT(refusal(set.set_text("p", "abcde")), AllOf(HasSubstr("5 bytes"), HasSubstr("at most 4")));
    EXPECT_THAT(refusal(set.set_text("p", "\xff")), HasSubstr("not UTF-8"));
    EXPECT_THAT(refusal(set.set_text("w", "abc")), AllOf(HasSubstr("a matrix"), HasSubstr("set()")));
    EXPECT_THAT(refusal(set.set("p", Tensor())), AllOf(HasSubstr("is a text"), HasSubstr("set_text()")));
    EXPECT_THAT(refusal(set.set_text("q", "abc")), AllOf(HasSubstr("no hyperfunction 'q'"), HasSubstr("p, w")));
    EXPECT_THAT(refusal(set.set_value("p", 1.0)), AllOf(HasSubstr("number"), HasSubstr("a tensor or a text")));
    EXPECT_EQ(set.find("p")->text, "") << "after refusals it is what it was";

    EXPECT_THAT(refusal(set.add({.name = "p", .shape = {2}}, Tensor::filled({2}, 1.0F))),
                AllOf(HasSubstr("one is a text"), HasSubstr("a vector [2]")));
    EXPECT_THAT(refusal(set.add({.name = "", .shape = {0}, .is_text = true}, "")), HasSubstr("no name"));
    EXPECT_THAT(refusal(set.add({.name = "z", .shape = {0}, .is_text = true, .most_bytes = 0}, "")),
                HasSubstr("at least 1"));
    EXPECT_THAT(refusal(set.add({.name = "z", .shape = {2}, .is_text = true}, "")), HasSubstr("a text and numbers"));
    EXPECT_THAT(refusal(set.add({.name = "z", .shape = {0}, .is_text = true}, Tensor())), HasSubstr("is a text"));
    EXPECT_THAT(refusal(set.add({.name = "z", .shape = {0}, .is_text = true, .most_bytes = 2}, "abc")),
                HasSubstr("3 bytes"));
    EXPECT_EQ(set.groups().size(), 2U) << "what is refused is not there";
}

TEST(text_parameters, bodies_get_the_text) {
    const auto host = prompt_of("Answer");
    const auto traced = traced_prompt();
    EXPECT_EQ(host.call({"Ask"}, {"why?"}).value(), Value("Ask: why?"));
    EXPECT_EQ(traced.call({"Ask"}, {"why?"}).value(), Value("Ask why?"));
    EXPECT_THAT(refusal(host.call_with(Tensor::vector({1.0F}), std::vector<Value>{"why?"})), HasSubstr("is a text"));

    System system("asks", [=](const Inputs& in) { return format("{} / {}", {host(in["q"]), in["q"]}); });
    EXPECT_EQ(system.call({{"q", "why?"}}).value(), Value("Answer: why? / why?"));
    ASSERT_OK(system.parameters().set_text("prompt", "Think"));
    EXPECT_EQ(system.call({{"q", "why?"}}).value(), Value("Think: why? / why?"));
    EXPECT_EQ(system.parameters(host)->text, "Think");
    EXPECT_EQ(system.parameters(host)->most_bytes, 16384U);

    System given("given", [=](const Inputs& in) { return traced(in["q"]); });
    ASSERT_OK(given.add(traced, "Tell me"));
    EXPECT_EQ(given.call({{"q", "why?"}}).value(), Value("Tell me why?"));
    System early("early", [=](const Inputs& in) { return traced(in["q"]); });
    ASSERT_OK(early.add(traced));
    EXPECT_EQ(early.parameters().find("prompt")->text, "Say");
}

TEST(text_parameters, a_long_first_text_is_refused_at_registration) {
    const auto prompt =
        hyperfunction("prompt", TextParameter{"too long", 3}, [](const TextParameter& p) { return p.text; });
    System system("s", [=](const Inputs&) { return prompt(); });
    EXPECT_THAT(refusal(system.call({{"x", 1.0}})), AllOf(HasSubstr("8 bytes"), HasSubstr("at most 3")));
}

// Of a trace every way to run it gives what its text at that time gives.
TEST(text_parameters, a_graph_does_not_hold_the_text) {
    const auto host = prompt_of("A");
    System system("asks", [=](const Inputs& in) { return format("{}!", {host(in["q"])}); });
    ASSERT_OK_AND_ASSIGN(const TracedExample first, system.trace({{{"q", "why?"}}, {}}));
    ASSERT_OK(system.parameters().set_text("prompt", "B"));
    ASSERT_OK_AND_ASSIGN(const TracedExample second, system.trace({{{"q", "why?"}}, {}}));
    EXPECT_EQ(signature(first.graph).value(), signature(second.graph).value());
    ASSERT_EQ(first.graph.parameters.size(), 1U);
    const VariableId id = first.graph.parameters[0].variable;
    EXPECT_EQ(first.graph.variables[id.value].type, (ValueType{ValueKind::Text, {}, {}}));
    EXPECT_OK(validate(first.graph));
    EXPECT_THAT(to_text(first.graph).value(), AllOf(HasSubstr("text"), HasSubstr("parameters \"prompt\"")));
    EXPECT_THAT(to_svg(first.graph).value(), HasSubstr("parameters, text"));

    const GraphArguments arguments{.inputs = {"how?"}, .parameters = {"C"}};
    EXPECT_THAT(call(first.graph, arguments).value(), ElementsAre(Value("C: how?!")));
    ASSERT_OK_AND_ASSIGN(HostPool pool, HostPool::create({.threads = 2}));
    EXPECT_THAT(call_async(first.graph, arguments, pool).value(), ElementsAre(Value("C: how?!")));
    Memo memo;
    EXPECT_THAT(call(first.graph, arguments, memo).value(), ElementsAre(Value("C: how?!")));
    EXPECT_THAT(call(first.graph, {.inputs = {"how?"}, .parameters = {"D"}}, memo).value(),
                ElementsAre(Value("D: how?!")));
    EXPECT_THAT(call(first.graph, arguments, memo).value(), ElementsAre(Value("C: how?!")));
    EXPECT_EQ(memo.hits(), 2U);
    EXPECT_THAT(refusal(call(first.graph, {.inputs = {"how?"}, .parameters = {Tensor()}})),
                AllOf(HasSubstr("parameter 'prompt'"), HasSubstr("text")));
}

TEST(text_parameters, a_control_that_a_text_steers_is_refused) {
    const auto letters = hyperfunction("prompt", TextParameter{"abc"},
                                       [](const TextParameter& p) { return static_cast<double>(p.text.size()); });
    System system("steers", [=](const Inputs& in) {
        if (letters().number() > 2.0) return in["q"];
        return in["q"] + 1.0;
    });
    EXPECT_THAT(refusal(system.call({{"q", 1.0}})), HasSubstr("Control flow depends on a parameter"));
}

TEST(text_parameters, transforms_keep_the_group) {
    const auto prompt = traced_prompt();
    const auto weight = hyperfunction("w", VectorWeight{.size = 2, .values = Tensor::vector({2, 3})},
                                      [](const Traced& w, const Traced& x) { return w * x; });
    System system("both", [=](const Inputs& in) {
        return pack({{"said", prompt(in["q"])}, {"y", sum(weight(in["x"]))}});
    });
    ASSERT_OK_AND_ASSIGN(const TracedExample traced,
                         system.trace({{{"q", "why?"}, {"x", Tensor::vector({1, 2})}}, {}}));
    const Graph& graph = traced.graph;
    const auto groups = [](const Graph& of) {
        std::vector<std::string> names;
        for (const GraphParameter& parameter : of.parameters) names.push_back(parameter.group);
        return names;
    };
    ASSERT_THAT(groups(graph), ElementsAre("prompt", "w"));
    const std::vector<Value> x{"how?", Tensor::vector({1, 2})};
    const std::vector<Value> parameters{"Tell", Tensor::vector({2, 3})};
    const Value said("Tell how?");
    const auto gives = [&](const Result<Graph>& of, std::vector<Value> inputs) {
        EXPECT_OK(of);
        if (!of) return std::vector<Value>{};
        EXPECT_OK(validate(*of));
        EXPECT_THAT(groups(*of), ElementsAre("prompt", "w"));
        const auto results = call(*of, {.inputs = std::move(inputs), .parameters = parameters});
        EXPECT_OK(results);
        return results ? *results : std::vector<Value>{};
    };
    const Value y = Tensor::vector({8});
    EXPECT_THAT(gives(inline_calls(graph), x), ElementsAre(said, y));
    EXPECT_THAT(gives(as_call(graph), x), ElementsAre(said, y));
    EXPECT_THAT(gives(dce(graph, {true, true}), x), ElementsAre(said, y));
    std::vector<Value> back = x;
    back.emplace_back(Tensor::vector({1}));
    const auto pulled = pullback(graph, {.inputs = {{"x"}}, .parameters = {{"w"}}});
    ASSERT_OK(pulled);
    if (pulled->inputs.size() == 4) back.insert(back.begin() + 2, Value(""));  // where texts have cotangents
    const std::vector<Value> cotangents = gives(pulled, back);
    ASSERT_EQ(cotangents.size(), 4U);
    EXPECT_EQ(cotangents[0], said);
    EXPECT_EQ(cotangents[2], Value(Tensor::vector({2, 3})));
    EXPECT_EQ(cotangents[3], Value(Tensor::vector({1, 2})));
    ASSERT_OK_AND_ASSIGN(const Graph only, dce(graph, {false, true}));
    EXPECT_THAT(groups(only), ElementsAre("w")) << "what nothing reads goes";
}

TEST(text_parameters, an_abandoned_call_reads_a_copy) {
    const auto gate = std::make_shared<std::promise<void>>();
    const std::shared_future<void> opened(gate->get_future());
    const auto read = std::make_shared<std::promise<std::string>>();
    const auto slow =
        std::make_shared<HostFunction>(HostFunction{.name = "slow",
                                                    .run = [opened, read](const HostCall& call) -> Result<Value> {
                                                        opened.wait();
                                                        read->set_value(std::string(call.text));
                                                        return Value(1);
                                                    },
                                                    .options = {.timeout = 10ms}});
    ASSERT_OK_AND_ASSIGN(HostPool pool, HostPool::create({.threads = 1}));
    {
        std::string text = "what it was when the call began";
        const std::vector<HostTask> one{{.function = slow, .text = text}};
        EXPECT_FALSE(pool.run_all(one)[0]);
        text.assign(text.size(), '?');
    }
    gate->set_value();
    EXPECT_EQ(read->get_future().get(), "what it was when the call began");
    EXPECT_TRUE(soon([&] { return pool.abandoned() == 0; }));
}

TEST(text_parameters, calls_with_time_outs_and_retries_get_the_text) {
    std::atomic<int> tries = 0;
    const auto prompt = hyperfunction("prompt", TextParameter{"A"},
                                      [&](const TextParameter& p) -> Result<std::string> {
                                          if (++tries < 2) return bad_input("not yet");
                                          return p.text;
                                      },
                                      {.host = {.timeout = 10s, .retries = 1, .backoff = 1ms}});
    for (const bool overlaps : {true, false}) {
        tries = 0;
        System system("s", [=](const Inputs&) { return prompt(); });
        system.overlap_host_calls(overlaps);
        EXPECT_EQ(system.call({{"x", 1.0}}).value(), Value("A"));
    }
}

}  // namespace
}  // namespace yolk::hyper
