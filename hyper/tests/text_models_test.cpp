// SPDX-License-Identifier: Apache-2.0
// Model calls in systems and graphs, against a server on loopback that answers by rule.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <condition_variable>
#include <thread>

#include "fixtures.hpp"
#include "text_fixtures.hpp"
#include "traced_graphs.hpp"
#include "yolk/graph.hpp"
#include "yolk/system.hpp"

namespace yolk::hyper::text_model_calls {  // its short names are others' as well
namespace {

using chat_server::Reply;
using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::UnorderedElementsAre;
using Values = std::vector<Value>;
using Inside = std::span<const Traced>;

/// Puts what it is told between angle brackets.
Reply brackets(const Json& request) { return says("<" + said(request) + ">"); }
Reply settings_of(const Json& request) {
    Json settings = request;
    settings.erase("messages");
    return says(to_line(settings));
}
Traced ask(const Traced& content, const ModelSettings& settings = {}) {
    return model_call({{"user", content}}, settings);
}

TEST(text_models, are_asked_with_messages_and_settings) {
    const ModelServer server(settings_of);
    System system("asker", [](const Inputs& in) {
        return model_call({{"system", "be brief"}, {"user", format("about {}", {in["topic"]})}},
                          {.model = "small",
                           .temperature = in["heat"],
                           .presence_penalty = 0.5,
                           .max_tokens = 7.6,
                           .seed = 3.0,
                           .stop = {"END"}});
    });
    system.use(server.models());
    ASSERT_OK_AND_ASSIGN(const Value answer, system.call({{"topic", "rain"}, {"heat", 3.5}}));
    ASSERT_OK_AND_ASSIGN(const Json sent, parse_json(*answer.text(), "the answer"));
    EXPECT_EQ(sent["model"], "small");
    EXPECT_EQ(sent["temperature"], 2.0) << "the nearest bound";
    EXPECT_EQ(sent["presence_penalty"], 0.5);
    EXPECT_EQ(sent["max_tokens"], 8);
    EXPECT_EQ(sent["seed"], 3);
    EXPECT_EQ(sent["stop"][0], "END");
    EXPECT_FALSE(sent.contains("top_p")) << "not set, not sent";
    EXPECT_THAT(server.asked(), ElementsAre("system: be brief | user: about rain"));
    const ModelCounts counts = system.models()->counts();
    EXPECT_EQ(counts.calls, 1U);
    EXPECT_GT(counts.prompt_tokens, 0U);
}

TEST(text_models, show_what_they_are_in_a_graph) {
    const chat::Schema schema = chat::doc({{"ok", chat::boolean()}});
    const Graph graph = traced("shown", {{"x", text_type()}}, [&](Inside in) {
        const Tag tag("writer");
        return TracedValues{ask(in[0], {.model = "small"}), schema_call(schema, {{"user", in[0]}})};
    });
    EXPECT_THAT(to_text(graph).value(), AllOf(HasSubstr("model_call \"small [writer]\""),
                                              HasSubstr("record {ok: boolean} = schema_call \"default [writer]\""),
                                              HasSubstr("tag \"writer\"")));
    EXPECT_THAT(to_svg(graph).value(), HasSubstr("model_call"));
    ASSERT_NE(graph.equations[0].host->model, nullptr);
    EXPECT_EQ(graph.equations[0].host->model->roles, std::vector<std::string>{"user"});
    const auto again = traced("again", {{"x", text_type()}}, [&](Inside in) {
        const Tag tag("writer");
        return TracedValues{ask(in[0], {.model = "small"}), ask(in[0], {.model = "large"})};
    });
    EXPECT_EQ(graph.equations[0].host, again.equations[0].host) << "equal calls are one function";
    EXPECT_NE(again.equations[0].host, again.equations[1].host);
}

TEST(text_models, fill_records_by_schema) {
    const ModelServer server([](const Json& request) {
        if (said(request) == "wrong") return says("{\"label\": \"urgent\"}");
        return says(R"({"label": "urgent", "score": 3, "share": 0.25, "sure": true, "by": {"name": "Ann"},
                        "marks": [1, 2]})");
    });
    const chat::Schema schema = chat::doc({{"label", chat::one_of({"calm", "urgent"})},
                                           {"score", chat::integer()},
                                           {"share", chat::number()},
                                           {"sure", chat::boolean()},
                                           {"by", chat::doc({{"name", chat::str()}})},
                                           {"marks", chat::list_of(chat::integer())}});
    System system("sorter", [=](const Inputs& in) {
        const Traced found = schema_call(schema, {{"user", in["x"]}});
        const Traced score = field(found, "score") * 2.0 + field(found, "share");
        const Traced words = switch_on(field(found, "label"), {{"calm", [] { return Traced("later"); }},
                                                               {"urgent", [&] { return format("now, {}", {score}); }}});
        return pack({{"words", words}, {"by", field(field(found, "by"), "name")}, {"marks", field(found, "marks")}});
    });
    system.use(server.models());
    ASSERT_OK_AND_ASSIGN(const Value answer, system.call({{"x", "right"}}));
    EXPECT_EQ(answer,
              Value(Record::create({{"words", "now, 6.25"}, {"by", "Ann"}, {"marks", *List::create({1, 2})}}).value()));
    static_cast<void>(server.asked());
    const std::vector<Example> examples{{{{"x", "right"}}, 0}, {{{"x", "wrong"}}, 0}};
    EXPECT_THAT(refusal(system.evaluate(examples, exact_match())),
                AllOf(HasSubstr("example 1"), HasSubstr("Model call 'default'"), HasSubstr("text_models_test.cpp:"),
                      HasSubstr("$"), HasSubstr("score"), HasSubstr("{\"label\": \"urgent\"}"), HasSubstr("2")));
    EXPECT_EQ(std::ranges::count(server.asked(), "user: wrong"), 2) << "asked again, then an error";
}

TEST(text_models, refuse_what_cannot_be_asked) {
    const auto check = [](const std::function<Traced(const Traced&)>& body) {
        System system("refused", [=](const Inputs& in) { return body(in["x"]); });
        return refusal(system.call({{"x", "text"}}));
    };
    EXPECT_THAT(check([](const Traced&) { return model_call({}); }),
                AllOf(HasSubstr("no messages"), HasSubstr("text_models_test.cpp:")));
    EXPECT_THAT(check([](const Traced& x) {
                    return model_call({{"boss", x}});
                }),
                AllOf(HasSubstr("the role 'boss'"), HasSubstr("system, developer, user, assistant")));
    EXPECT_THAT(check([](const Traced&) { return ask(1.0); }), HasSubstr("message 0 (user) is number"));
    EXPECT_THAT(check([](const Traced& x) { return schema_call(chat::str(), {{"user", x}}); }), HasSubstr("document"));
    EXPECT_THAT(check([](const Traced& x) { return ask(x, {.temperature = x}); }), HasSubstr("'temperature'"));
    EXPECT_THAT(check([](const Traced& x) { return ask(x, {.seed = 0.5}); }), HasSubstr("whole number"));
    EXPECT_THAT(check([](const Traced& x) {
                    return ask(x, {.sampling = Tensor::vector({1, 2})});
                }),
                HasSubstr("sampled by 2 numbers"));
    EXPECT_THAT(check([](const Traced& x) { return ask(x); }),
                AllOf(HasSubstr("No model is in force"), HasSubstr("UseModels"), HasSubstr("without tags")));
}

TEST(text_models, are_routed_by_tag_and_context) {
    const auto named = [](const std::string& name) {
        return [name](const chat::Request& request, std::stop_token) -> Result<chat::Answer> {
            return chat::Answer{.content = name + ": " + request.messages.back().content};
        };
    };
    System system("routed", [&](const Inputs& in) {
        const Traced plain = ask(in["x"]);
        const Tag outer("judge");
        const Traced judged = ask(in["x"]);
        const Tag inner("strict");
        return format("{}, {}, {}", {plain, judged, ask(in["x"])});
    });
    const auto answer = [&] {
        const auto result = system.call({{"x", "q"}});
        return result ? *result->text() : result.error().message;
    };
    system.use(Models().otherwise(named("own")).on_tag("judge", named("own judge")));
    EXPECT_EQ(answer(), "own: q, own judge: q, own judge: q");
    {
        const UseModels strict(Models().on_tag("strict", named("strict")));
        EXPECT_EQ(answer(), "own: q, own judge: q, strict: q") << "the caller's come first, as far as they go";
        const UseModels all(Models().otherwise(named("all")));
        EXPECT_EQ(answer(), "all: q, all: q, all: q") << "the innermost";
        system.overlap_host_calls(false);
        EXPECT_EQ(answer(), "all: q, all: q, all: q") << "in the caller's thread as well";
    }
    system.use(Models().on_tag("judge", named("own judge")));
    EXPECT_THAT(answer(), AllOf(HasSubstr("No model is in force for calls without tags")));
    // Another system's models are for its own calls, inside of this one's too.
    System inside("inside", [](const Inputs& in) { return ask(in["x"]); });
    inside.use(Models().otherwise(named("inside")));
    const auto nested = hyperfunction("nested", NoParameters{}, [&](const std::string& x) {
        return inside.call({{"x", x}});
    });
    System outside("outside", [&](const Inputs& in) { return format("{}, {}", {nested(in["x"]), ask(in["x"])}); });
    outside.use(Models().otherwise(named("outside")));
    EXPECT_EQ(outside.call({{"x", "q"}}).value(), Value("inside: q, outside: q"));
}

TEST(text_models, failures_name_the_call_and_never_the_key) {
    const ModelServer server([](const Json& request) {
        if (said(request) == "fine") return says("fine");
        return chat_server::refuse(500, std::string("broken, and the key was ") + kModelKey);
    });
    System system("failing", [](const Inputs& in) { return ask(in["x"], {.model = "small"}); });
    system.use(server.models());
    const std::vector<Example> examples{{{{"x", "fine"}}, "fine"}, {{{"x", "ill"}}, "fine"}};
    const std::string overlapped = refusal(system.evaluate(examples, exact_match()));
    system.overlap_host_calls(false);
    const std::string alone = refusal(system.evaluate(examples, exact_match()));
    for (const std::string& message : {overlapped, alone}) {
        EXPECT_THAT(message, AllOf(HasSubstr("example 1"), HasSubstr("'small'"), HasSubstr("text_models_test.cpp:"),
                                   HasSubstr("broken"), HasSubstr("Attempt 2 of 2"), Not(HasSubstr(kModelKey))));
    }
    const std::string graph = to_text(system.trace(examples[0]).value().graph).value();
    EXPECT_THAT(graph, Not(HasSubstr(kModelKey)));
    const Graph direct = traced("direct", {{"x", text_type()}}, [](Inside in) { return TracedValues{ask(in[0])}; });
    const UseModels models(server.models());
    EXPECT_THAT(refusal(call(direct, {.inputs = {"ill"}})),
                AllOf(HasSubstr("equation 0, model_call of model 'default'"), Not(HasSubstr(kModelKey))));
    EXPECT_EQ(server.models().counts().failed, 0U) << "other routes, other counts";
    EXPECT_GT(system.models()->counts().failed, 0U);
}

TEST(text_models, order_of_arrival_changes_nothing) {
    const auto slow_ones = [](std::size_t which) {
        return [which](const Json& request) {
            Reply reply = brackets(request);
            if (said(request).size() % 3 == which) reply.delay = std::chrono::milliseconds(15);
            return reply;
        };
    };
    std::vector<Example> examples;
    for (std::size_t i = 1; i <= 12; ++i)
        examples.push_back({{{"x", std::string(i, 'x')}}, "<<" + std::string(i, 'x') + ">>"});
    std::vector<Evaluation> evaluations;
    std::vector<ModelCounts> counts;
    for (const std::size_t which : {0U, 1U, 2U}) {
        const ModelServer server(slow_ones(which));
        System system("ordered", [](const Inputs& in) { return ask(ask(in["x"])); });
        system.use(Models().otherwise(server.model({.prices = {.prompt = 0.1, .completion = 0.3}})));
        ASSERT_OK_AND_ASSIGN(evaluations.emplace_back(), system.evaluate(examples, exact_match()));
        counts.push_back(system.models()->counts());
    }
    EXPECT_EQ(evaluations[0].reward, 1.0);
    EXPECT_GT(counts[0].cost, 0.0);
    for (const std::size_t other : {1U, 2U}) {
        EXPECT_EQ(evaluations[other].predictions, evaluations[0].predictions);
        EXPECT_EQ(counts[other].cost, counts[0].cost);
        EXPECT_EQ(counts[other].completion_tokens, counts[0].completion_tokens);
    }
}

TEST(text_models, run_in_batches_branches_and_loops_where_they_are_alive) {
    const ModelServer server([](const Json& request) { return says(said(request) + "!"); });
    const UseModels models(server.models());
    const Graph graph = traced("alive", {{"x", text_type()}, {"loud", boolean_type()}}, [](Inside in) {
        const Traced shouted = while_loop(
            in[0], [](const Traced& x) { return logical_not(match(x, "!!", Match::Ends)); },
            [](const Traced& x) { return ask(x); }, 4);
        return TracedValues{switch_on(in[1], {[&] { return shouted; }, [&] { return ask(format("{}?", {shouted})); }})};
    });
    ASSERT_OK_AND_ASSIGN(const Graph each, batch(graph, {.size = 3}));
    ASSERT_OK_AND_ASSIGN(const Values results, call(each, {.inputs = {"a", "b!", "c!!", vector({1, 0, 0})}}));
    EXPECT_EQ(results, (Values{"a!!?!", "b!!", "c!!"}));
    EXPECT_THAT(server.asked(), UnorderedElementsAre("user: a", "user: a!", "user: a!!?", "user: b!"));
    const Graph endless = traced("endless", {{"x", text_type()}}, [](Inside in) {
        return TracedValues{while_loop(
            in[0], [](const Traced& x) { return logical_not(match(x, "done")); },
            [](const Traced& x) { return ask(x); }, 2)};
    });
    EXPECT_THAT(refusal(call(endless, {.inputs = {"a"}})),
                AllOf(HasSubstr("still holds after 2 steps"), HasSubstr("text_models_test.cpp:")));
}

TEST(text_models, of_one_stage_overlap_where_a_predicate_says) {
    struct Meeting {
        std::mutex mutex{};
        std::condition_variable arrival{};
        int arrived = 0;
    };
    const auto meeting = std::make_shared<Meeting>();
    // Neither of two is answered before both are asked; a third waits for nobody.
    const ModelServer server([meeting](const Json& request) {
        std::unique_lock lock(meeting->mutex);
        if (said(request) == "ill") return chat_server::refuse(400, "ill indeed");
        if (said(request).size() > 1) return brackets(request);
        ++meeting->arrived;
        meeting->arrival.notify_all();
        const bool met =
            meeting->arrival.wait_for(lock, std::chrono::seconds(60), [&] { return meeting->arrived >= 2; });
        return met ? brackets(request) : chat_server::refuse(400, "nobody else came");
    });
    const UseModels models(server.models());
    const Graph graph = traced("staged", {{"x", text_type()}, {"y", text_type()}}, [](Inside in) {
        const auto tagged = [](const Traced& x) {
            const Tag tag("quick");
            return ask(x);
        };
        const Traced a = tagged(in[0]), b = tagged(in[1]);
        return TracedValues{ask(concat({a, b}))};
    });
    ASSERT_OK_AND_ASSIGN(const Graph staged, sched(graph, [](const Equation& equation) {
                             return std::ranges::find(equation.tags, "quick") != equation.tags.end();
                         }));
    EXPECT_EQ(operations_of(staged), (std::vector<std::string>{"parallel", "concat", "host_call"}));
    ASSERT_OK_AND_ASSIGN(HostPool pool, HostPool::create({.threads = 4}));
    EXPECT_EQ(call_async(staged, {.inputs = {"a", "b"}}, pool).value(), (Values{"<<a><b>>"}));
    EXPECT_EQ(call(staged, {.inputs = {"c", "d"}}).value(), (Values{"<<c><d>>"})) << "the same, one after the other";
    EXPECT_THAT(refusal(call_async(staged, {.inputs = {"e", "ill"}}, pool)),
                AllOf(HasSubstr("Model call 'default [quick]'"), HasSubstr("ill indeed")))
        << "of a stage, too";
}

/// Answers x after x.size() steps of a loop, which all wait for the second of them.
TEST(text_models, of_loops_wait_together) {
    const auto arrived = std::make_shared<std::atomic<int>>(0);
    const ModelServer server([arrived](const Json& request) {
        const bool first = said(request).size() == 1;
        if (first) ++*arrived;
        const bool met = !first || soon([&] { return *arrived >= 2; });
        return met ? says(said(request) + "!") : chat_server::refuse(400, "nobody else came");
    });
    const auto shouted = [](const Traced& start) {
        return while_loop(
            start, [](const Traced& x) { return logical_not(match(x, "!!", Match::Ends)); },
            [](const Traced& x) { return ask(x); }, 3);
    };
    System system("loops", [=](const Inputs& in) { return shouted(in["x"]); });
    system.use(server.models());
    const std::vector<Example> examples{{{{"x", "a"}}, "a!!"}, {{{"x", "b"}}, "b!!"}};
    EXPECT_EQ(system.evaluate(examples, exact_match()).value().reward, 1.0) << "over examples";
    const Graph graph = traced("loop", {{"x", text_type()}}, [=](Inside in) { return TracedValues{shouted(in[0])}; });
    ASSERT_OK_AND_ASSIGN(const Graph each, batch(graph, {.size = 2}));
    ASSERT_OK_AND_ASSIGN(HostPool pool, HostPool::create({.threads = 4}));
    const UseModels models(server.models());
    *arrived = 0;
    EXPECT_EQ(call_async(each, {.inputs = {"c", "d"}}, pool).value(), (Values{"c!!", "d!!"})) << "over a batch";
    const std::vector<Example> endless{{{{"x", "a"}}, ""}, {{{"x", "bb"}}, ""}};
    System short_one("short", [](const Inputs& in) {
        return while_loop(
            in["x"], [](const Traced& x) { return logical_not(match(x, "never")); },
            [](const Traced& x) {
                return ask(concat({x, x}));
            },
            1);
    });
    EXPECT_THAT(
        refusal(short_one.evaluate(endless, exact_match())),
        AllOf(HasSubstr("example 0"), HasSubstr("still holds after 1 steps"), HasSubstr("text_models_test.cpp:")));
}

TEST(text_models, are_remembered_pruned_and_not_folded) {
    const ModelServer server(brackets);
    const UseModels models(server.models());
    const Graph graph = traced("two", {{"x", text_type()}}, [](Inside in) {
        return TracedValues{checkpoint(ask(in[0]), "first"), ask(concat({in[0], "?"}))};
    });
    Memo memo;
    for (int i = 0; i < 3; ++i) EXPECT_EQ(call(graph, {.inputs = {"a"}}, memo).value(), (Values{"<a>", "<a?>"}));
    EXPECT_THAT(server.asked(), UnorderedElementsAre("user: a", "user: a?"));
    ASSERT_OK_AND_ASSIGN(const Graph pruned, dce(graph, {true, false}));
    EXPECT_EQ(run(pruned, {"b"}), (Values{"<b>"}));
    EXPECT_THAT(server.asked(), ElementsAre("user: b", "user: b", "user: b")) << "three runs, one call each";
    const std::vector<std::pair<std::string, Value>> c{{"x", "c"}}, other{{"first", "none"}};
    ASSERT_OK_AND_ASSIGN(const Graph fixed, with_static_inputs(graph, c));
    EXPECT_THAT(refusal(folded_outputs(fixed)), HasSubstr("model_call"));
    ASSERT_OK_AND_ASSIGN(const Graph folded, fold(fixed));
    EXPECT_THAT(server.asked(), ElementsAre()) << "nobody is asked before it runs";
    EXPECT_EQ(run(folded, {}), (Values{"<c>", "<c?>"}));
    static_cast<void>(server.asked());
    ASSERT_OK_AND_ASSIGN(const Graph injected, inject(graph, {}, other));
    ASSERT_OK_AND_ASSIGN(const Graph left, dce(injected, {true, true}));
    EXPECT_EQ(call(left, {.inputs = {"a"}}).value(), (Values{"none", "<a?>"}));
    EXPECT_THAT(server.asked(), UnorderedElementsAre("user: a", "user: a?")) << "a checkpoint stays, and what it reads";
    EXPECT_EQ(run(collect(graph).value().graph, {"a"}), (Values{"<a>", "<a?>", "<a>"}));
}

}  // namespace
}  // namespace yolk::hyper::text_model_calls
