// SPDX-License-Identifier: Apache-2.0
// Lists and dictionaries as values: made, passed, traced, batched, in JSON, in texts, and refused where they have no
// meaning.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>

#include "fixtures.hpp"
#include "text_fixtures.hpp"
#include "traced_graphs.hpp"
#include "yolk/graph.hpp"
#include "yolk/json.hpp"
#include "yolk/optimize.hpp"
#include "yolk/system.hpp"

namespace yolk::hyper::list_values {  // its short names are others' as well
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using Inside = std::span<const Traced>;
using Texts = std::vector<std::string>;
using Values = std::vector<Value>;

Value list(List::Items items) { return List::create(std::move(items)).value(); }
Value texts(Texts all) { return List::of_texts(std::move(all)); }
Value record(Record::Fields fields) { return Record::create(std::move(fields)).value(); }
ValueType list_type() { return {ValueKind::List, {}}; }
ValueType integer_type() { return {ValueKind::Integer, {}}; }
Value now(const Traced& x) { return x.read(); }
Result<Value> called(const System::Function& function, std::map<std::string, Value> inputs = {}) {
    return System("s", function).call(inputs);
}

TEST(lists, hold_values_of_any_kinds) {
    const Value all = list({1, 2.5, "a", true, Tensor::vector({1, 2}), texts({"b"}), record({{"n", 3}})});
    ASSERT_NE(all.list(), nullptr);
    EXPECT_EQ(all.list()->items().size(), 7U);
    EXPECT_EQ(to_string(type_of(all)), "list");
    EXPECT_EQ(type_of(all), type_of(Value(List()))) << "whatever is in it";
    EXPECT_EQ(all.at(-1).value().at("n").value(), Value(3));
    EXPECT_THAT(refusal(all.at(7)), AllOf(HasSubstr("no item 7"), HasSubstr("list of 7")));
    EXPECT_THAT(refusal(all.at(-8)), HasSubstr("no item -8"));
    EXPECT_THAT(refusal(all.at("n")), HasSubstr("no fields"));
    EXPECT_THAT(refusal(record({{"n", 3}}).at("m")), HasSubstr("no field 'm'"));
    EXPECT_THAT(refusal(Value(3).at(0)), HasSubstr("no items"));
    EXPECT_THAT(refusal(all.as_number()), HasSubstr("list"));
    EXPECT_EQ(texts({"a", "b"}), list({"a", "b"}));
    EXPECT_FALSE(texts({"a", "b"}) == texts({"b", "a"}));
    EXPECT_FALSE(texts({"a"}) == Value("a"));
    EXPECT_EQ(list({1, 2}), list({1.0, 2.0}));
}

TEST(lists, are_nested_up_to_a_limit) {
    Value deep = 1;
    std::size_t depth = 0;
    for (; depth < 1000; ++depth) {
        auto next = depth % 2 == 0 ? List::create({deep}) : Result<List>(List());
        Result<Value> made = Value(List());
        if (depth % 2 == 0) {
            made = next ? Result<Value>(Value(*next)) : Result<Value>(next.error());
        } else {
            auto around = Record::create({{"x", deep}});
            made = around ? Result<Value>(Value(*around)) : Result<Value>(around.error());
        }
        if (!made) {
            EXPECT_THAT(made.error().message, AllOf(HasSubstr("101"), HasSubstr("100 deep")));
            break;
        }
        deep = *made;
    }
    EXPECT_EQ(depth, kMostValueDepth);
    EXPECT_EQ(deep.depth(), kMostValueDepth);
    ASSERT_OK_AND_ASSIGN(const Json json, parse_json(to_line(to_json(deep)), "a value", {.depth = kMostValueDepth}));
    EXPECT_TRUE(value_from_json(json));
    const std::string opened(110, '['), closed(110, ']');
    ASSERT_OK_AND_ASSIGN(const Json deeper, parse_json(opened + "\"x\"" + closed, "a value", {.depth = 200}));
    EXPECT_THAT(refusal(value_from_json(deeper)), HasSubstr("100 arrays and objects"));
}

TEST(lists, are_json_arrays) {
    for (const Value& value : {texts({"a", "b"}), list({1, "a", true, 2.5}), list({texts({}), texts({"x"})}),
                               list({record({{"title", "t"}, {"score", .1}}), record({{"title", "u"}})}),
                               record({{"tags", texts({"x"})}, {"n", 3}}), list({vector({1, 2}), "a"})}) {
        ASSERT_OK_AND_ASSIGN(const Json json, parse_json(to_line(to_json(value)), "a value"));
        ASSERT_OK_AND_ASSIGN(const Value again, value_from_json(json));
        EXPECT_EQ(text_of(again), text_of(value));
    }
    EXPECT_EQ(value_from_json(Json::parse("[1,[2]]")).value(), list({1, vector({2})})) << "no tensor: a list";
    EXPECT_EQ(value_from_json(Json::parse("[[1],[2,3]]")).value(), list({vector({1}), vector({2, 3})}));
    EXPECT_THAT(refusal(value_from_json(Json::parse(R"([1, {"a": null}])"))),
                AllOf(HasSubstr("item 1"), HasSubstr("field 'a'"), HasSubstr("null")));
}

TEST(lists, are_texts) {
    const Value documents =
        list({record({{"title", "A \"b\""}, {"score", .5}}), record({{"title", "C"}, {"score", 2.0}})});
    EXPECT_EQ(now(format("{}", {Traced(documents)})),
              Value(R"([{"title":"A \"b\"","score":0.5},{"title":"C","score":2.0}])"));
    EXPECT_EQ(now(join(Traced(texts({"a", "b", "c"})), ", ")), Value("a, b, c"));
    EXPECT_EQ(now(join(Traced(list({1, .1, "x"})), "|")), Value("1|0.1|x"));
    EXPECT_EQ(now(join(Traced(List()), ", ")), Value(""));
    EXPECT_EQ(to_string(texts({"1", "2", "3", "4", "5", "6", "7", "8", "9"})),
              R"(["1", "2", "3", "4", "5", "6", "7", "8", ...])");
}

TEST(lists, pass_between_host_functions) {
    const auto retrieve = hyperfunction("retrieve", NoParameters{}, [](const std::string& query, int count) {
        Texts found;
        for (int i = 0; i < count; ++i) found.push_back(query + " " + std::to_string(i));
        return found;
    });
    const auto rank = hyperfunction("rank", NoParameters{}, [](const Texts& all) {
        std::map<std::string, double> scores;
        for (const std::string& each : all) scores[each] = static_cast<double>(each.size());
        return scores;
    });
    const auto total = hyperfunction("total", NoParameters{}, [](const std::map<std::string, double>& scores) {
        double sum = 0.0;
        for (const auto& [name, score] : scores) sum += score;
        return sum;
    });
    const auto nested = hyperfunction("nested", NoParameters{}, [](const std::vector<std::vector<std::int64_t>>& rows) {
        std::vector<std::map<std::string, std::int64_t>> all;
        for (const auto& row : rows) all.push_back({{"first", row.front()}});
        return all;
    });
    System system("s", [=](const Inputs& in) {
        const Traced found = retrieve(in["q"], in["n"]);
        return pack({{"found", found}, {"count", length(found)}, {"total", total(rank(found))}});
    });
    for (const int n : {0, 1, 3}) {
        ASSERT_OK_AND_ASSIGN(const Value answer, system.call({{"q", "x"}, {"n", n}}));
        EXPECT_EQ(answer.at("count").value(), Value(n));
        EXPECT_EQ(answer.at("total").value(), Value(3.0 * n));
        EXPECT_EQ(answer.at("found").value().list()->items().size(), static_cast<std::size_t>(n));
    }
    EXPECT_EQ(called([=](const Inputs& in) { return nested(in["x"]); },
                     {{"x", list({list({9007199254740993, 2}), list({3})})}})
                  .value(),
              list({record({{"first", 9007199254740993}}), record({{"first", 3}})}));
    EXPECT_EQ(called([=](const Inputs& in) { return nested(in["x"]); }, {{"x", matrix(2, {1, 2, 3, 4})}}).value(),
              list({record({{"first", 1}}), record({{"first", 3}})}))
        << "a tensor is a list of its rows";
    EXPECT_THAT(refusal(called([=](const Inputs& in) { return rank(in["x"]); }, {{"x", list({"a", 2})}})),
                AllOf(HasSubstr("operand 0"), HasSubstr("item 1"), HasSubstr("integer"), HasSubstr("text")));
    EXPECT_THAT(refusal(called([=](const Inputs& in) { return rank(in["x"]); }, {{"x", 2}})), HasSubstr("a list"));
    const auto sum =
        hyperfunction("sum", NoParameters{}, [](const Tensor& x) { return x.values()[0] + x.values()[1]; });
    EXPECT_EQ(called([=](const Inputs& in) { return sum(in["x"]); }, {{"x", list({1, .5})}}).value(), Value(1.5));
}

struct Answer {
    std::string text;
    Texts sources{};
    std::map<std::string, int> counts{};
    static FieldsOf<Answer> fields() {
        return {field_of("text", &Answer::text), field_of("sources", &Answer::sources),
                field_of("counts", &Answer::counts)};
    }
};

TEST(lists, are_members_of_structs) {
    const Value value = to_value(Answer{"t", {"a", "b"}, {{"x", 2}}});
    EXPECT_EQ(value, record({{"text", "t"}, {"sources", texts({"a", "b"})}, {"counts", record({{"x", 2}})}}));
    ASSERT_OK_AND_ASSIGN(const Answer back, from_value<Answer>(value));
    EXPECT_EQ(back.sources, (Texts{"a", "b"}));
    EXPECT_EQ(back.counts.at("x"), 2);
    EXPECT_THAT(refusal(from_value<Answer>(record({{"text", "t"}, {"sources", list({1})}, {"counts", Record()}}))),
                AllOf(HasSubstr("'sources'"), HasSubstr("item 0")));
    const auto unnamed = hyperfunction("unnamed", NoParameters{}, [](double) {
        return std::map<std::string, double>{{"", 1.0}};
    });
    EXPECT_THAT(refusal(called([=](const Inputs& in) { return unnamed(in["x"]); }, {{"x", 1.0}})),
                HasSubstr("no name"));
}

TEST(lists, are_taken_apart_in_graphs) {
    const auto take = [](const Value& all, const Value& at) {
        return called([](const Inputs& in) { return item(in["all"], in["at"]); }, {{"all", all}, {"at", at}});
    };
    const Value all = list({1, .5, "a", texts({"b"}), record({{"n", 2}})});
    for (int i = -5; i < 5; ++i) EXPECT_EQ(take(all, i).value(), all.at(i).value()) << i;
    EXPECT_EQ(take(all, 2.0).value(), Value("a"));
    EXPECT_THAT(refusal(take(all, 5)), AllOf(HasSubstr("item"), HasSubstr("no item 5"), HasSubstr("list of 5")));
    EXPECT_THAT(refusal(take(all, .5)), HasSubstr("0.5"));
    EXPECT_THAT(refusal(take("abc", 0)), AllOf(HasSubstr("item"), HasSubstr("text"), HasSubstr("a list")));
    EXPECT_EQ(called([](const Inputs& in) { return field(item(in["all"], -1), "n") + 1; }, {{"all", all}}).value(),
              Value(3));
    EXPECT_EQ(called([](const Inputs& in) { return length(in["all"]); }, {{"all", all}}).value(), Value(5));
    EXPECT_EQ(called(
                  [](const Inputs& in) {
                      return make_list({in["x"], 2, "y"});
                  },
                  {{"x", 1.5}})
                  .value(),
              list({1.5, 2, "y"}));
    EXPECT_EQ(
        called([](const Inputs& in) { return sum(to_tensor(in["all"])); }, {{"all", list({1, .5, true})}}).value(),
        vector({2.5}));
    EXPECT_EQ(
        called([](const Inputs& in) { return to_tensor(in["all"]); }, {{"all", list({list({1, 2}), list({3, 4})})}})
            .value(),
        matrix(2, {1, 2, 3, 4}));
    EXPECT_THAT(refusal(called([](const Inputs& in) { return to_tensor(in["all"]); }, {{"all", texts({"a"})}})),
                AllOf(HasSubstr("to_tensor"), HasSubstr("text")));
    EXPECT_THAT(refusal(called([](const Inputs& in) { return to_tensor(in["all"]); },
                               {{"all", list({list({1}), list({2, 3})})}})),
                HasSubstr("1 and of 2 items"));
}

TEST(lists, are_constants_and_inputs_of_graphs) {
    const Graph graph = traced("g", {{"all", list_type()}, {"at", integer_type()}}, [](Inside in) {
        return TracedValues{item(in[0], in[1], Value("")),
                            length(in[0]),
                            in[0],
                            item(Traced(texts({"x", "y"})), 1),
                            equal(in[0], Traced(texts({"a", "b"}))),
                            select(equal(in[1], 0), in[0], Traced(texts({})))};
    });
    EXPECT_EQ(run(graph, {texts({"a", "b"}), 1}), (Values{"b", 2, texts({"a", "b"}), "y", true, texts({})}));
    EXPECT_EQ(run(graph, {texts({"c"}), 0}), (Values{"c", 1, texts({"c"}), "y", false, texts({"c"})}));
    EXPECT_THAT(refusal(call(graph, {.inputs = {list({1}), 0}})),
                AllOf(HasSubstr("item 0"), HasSubstr("integer"), HasSubstr("text")));
    EXPECT_THAT(refusal(call(graph, {.inputs = {"a", 0}})), HasSubstr("list"));
    EXPECT_THAT(to_text(graph).value(), HasSubstr(R"(["a", "b"])"));
    Memo memo;
    for (const Value& all : {texts({"a", "b"}), texts({"a", "c"}), texts({"a", "b"})})
        EXPECT_EQ(call(graph, {.inputs = {all, 1}}, memo).value().at(0), all.at(1).value());
    EXPECT_GT(memo.hits(), 0U);
}

TEST(lists, go_through_loops_and_branches) {
    System system("s", [](const Inputs& in) {
        const Traced all = in["all"];
        const std::vector<Traced> init{0, ""};
        const TracedValues joined = while_loop(
            init, [&](Inside values) { return less(values[0], length(all)); },
            [&](Inside values) {
                return TracedValues{values[0] + 1, format("{}{};", {values[1], item(all, values[0], Value(""))})};
            },
            10);
        return pack({{"joined", joined[1]},
                     {"chosen", switch_on(in["key"], {[&] { return all; }, [] { return Traced(texts({"z"})); }})}});
    });
    EXPECT_EQ(system.call({{"all", texts({"a", "b"})}, {"key", 1}}).value(),
              record({{"joined", "a;b;"}, {"chosen", texts({"z"})}}));
    EXPECT_EQ(system.call({{"all", texts({})}, {"key", 0}}).value(), record({{"joined", ""}, {"chosen", texts({})}}));
    const auto unknown = [](const Inputs& in) {
        const Traced all = in["all"];
        return while_loop(
            all, [](const Traced& x) { return equal(item(x, 0), "a"); }, [](const Traced& x) { return x; }, 3);
    };
    EXPECT_THAT(refusal(called(unknown, {{"all", texts({"a"})}})), HasSubstr("item(list, index, like)"));
    const auto appended = [](const Inputs& in) {
        return while_loop(
            in["all"], [](const Traced& x) { return less(length(x), 3); },
            [](const Traced& x) {
                return make_list({x, length(x), "z"});
            },
            5);
    };
    EXPECT_EQ(called(appended, {{"all", texts({"a"})}}).value(), list({texts({"a"}), 1, "z"}));
}

TEST(lists, of_a_batch_are_inputs_of_their_own) {
    const Graph graph = traced("g", {{"all", list_type()}, {"x", number_type()}}, [](Inside in) {
        return TracedValues{in[0], length(in[0]), join(in[0], "+"), item(in[0], -1, Value("")),
                            make_list({in[1], in[0]})};
    });
    ASSERT_OK_AND_ASSIGN(const Graph batched, batch(graph, {.size = 2}));
    const Value a = texts({"a"}), b = texts({"b", "c"});
    EXPECT_EQ(run(batched, {a, b, vector({.5F, 2})}),
              (Values{a, b, 1, 2, "a", "b+c", "a", "c", list({.5, a}), list({2.0, b})}));
    ASSERT_OK_AND_ASSIGN(const Graph shared, batch(graph, {.size = 2, .axes = {std::nullopt, 0}}));
    EXPECT_EQ(run(shared, {b, vector({.5F, 2})}).back(), list({2.0, b}));
}

TEST(lists, are_refused_where_they_have_no_meaning) {
    const auto refused = [](const std::function<Traced(const Traced&)>& f) {
        return refusal(called([=](const Inputs& in) { return f(in["all"]); }, {{"all", list({1, 2})}}));
    };
    EXPECT_THAT(refused([](const Traced& x) { return x + 1; }), AllOf(HasSubstr("add"), HasSubstr("list")));
    EXPECT_THAT(refused([](const Traced& x) { return relu(x); }), AllOf(HasSubstr("relu"), HasSubstr("list")));
    EXPECT_THAT(refused([](const Traced& x) { return sum(x); }), AllOf(HasSubstr("sum"), HasSubstr("list")));
    EXPECT_THAT(refused([](const Traced& x) { return less(x, 1); }), HasSubstr("list"));
    EXPECT_THAT(refused([](const Traced& x) { return concat({x, x}); }), HasSubstr("list"));
    EXPECT_THAT(refused([](const Traced& x) { return to_number(x); }), HasSubstr("list"));
    EXPECT_THAT(refused([](const Traced& x) { return factor(x); }), HasSubstr("list"));
    EXPECT_THAT(refused([](const Traced& x) { return field(x, "a"); }), AllOf(HasSubstr("record"), HasSubstr("list")));
    EXPECT_THAT(refused([](const Traced& x) { return match(x, "a"); }), HasSubstr("list"));
    EXPECT_THAT(refused([](const Traced& x) { return length(item(x, 0)); }),
                AllOf(HasSubstr("length"), HasSubstr("integer")));
    EXPECT_THAT(refusal(System("s", [](const Inputs& in) { return in["all"]; })
                            .evaluate(std::vector<Example>{{{{"all", texts({"a"})}}, 1.0}}, numeric_distance())),
                HasSubstr("list"));
}

TEST(lists, do_not_move) {
    const Graph graph = traced("g", {{"x", number_type()}, {"all", list_type()}}, [](Inside in) {
        return TracedValues{in[0] * item(in[1], 0, Value(1.0)), in[1], make_list({in[0]})};
    });
    ASSERT_OK_AND_ASSIGN(const Graph pulled, pullback(graph));
    EXPECT_EQ(run(pulled, {2.0, list({3.0}), 1.0}), (Values{6.0, list({3.0}), list({2.0}), 3.0}));
    ASSERT_OK_AND_ASSIGN(const Graph pushed, pushforward(graph));
    EXPECT_EQ(run(pushed, {2.0, list({3.0}), 1.0}), (Values{6.0, list({3.0}), list({2.0}), 3.0}));
    // What goes on from a list of what moves would move nothing: refused, not zero.
    const Graph through = traced("t", {{"x", number_type()}, {"p", text_type()}}, [](Inside in) {
        return TracedValues{item(make_list({in[0]}), 0, Value(1.0)) * 2, join(make_list({in[1]}), ", ")};
    });
    EXPECT_THAT(refusal(pullback(through)), AllOf(HasSubstr("operation list"), HasSubstr("stop_gradient")));
    EXPECT_THAT(refusal(pushforward(through)), AllOf(HasSubstr("operation list"), HasSubstr("stop_gradient")));
    const auto retrieve = hyperfunction("retrieve", NoParameters{}, [](const std::string& q) { return Texts{q}; });
    const Graph host =
        traced("h", {{"p", text_type()}}, [&](Inside in) { return TracedValues{join(retrieve(in[0]), ", ")}; });
    EXPECT_THAT(refusal(pullback(host)), AllOf(HasSubstr("'retrieve'"), HasSubstr("list")));
    const Graph cut = traced("c", {{"p", text_type()}}, [&](Inside in) {
        return TracedValues{format("{}{}", {in[0], join(retrieve(stop_gradient(in[0])), ", ")})};
    });
    EXPECT_OK(pullback(cut, {.inputs = {{"p"}}, .parameters = Texts()}));
    EXPECT_THAT(refusal(pullback(graph, {.inputs = {{"all"}}})), HasSubstr("'all' is of the type list"));
}

TEST(lists, are_what_a_schema_asks_for) {
    const chat::Schema schema = chat::doc(
        {{"tags", chat::list_of(chat::str())},
         {"ids", chat::list_of(chat::integer())},
         {"marks", chat::list_of(chat::number())},
         {"people", chat::list_of(chat::doc({{"name", chat::str()}, {"langs", chat::list_of(chat::str())}}))}});
    const ModelServer server([](const Json& request) {
        if (said(request).starts_with("empty")) return says(R"({"tags":[],"ids":[],"marks":[],"people":[]})");
        return says(R"({"tags":["a","b"],"ids":[123456789,9007199254740993],"marks":[0.1],)"
                    R"("people":[{"name":"Ann","langs":["en","fr"]}]})");
    });
    System system("s", [=](const Inputs& in) {
        const Traced reply = schema_call(schema, {{"user", in["x"]}});
        return pack({{"tags", join(field(reply, "tags"), "+")}, {"reply", reply}});
    });
    system.use(server.models());
    ASSERT_OK_AND_ASSIGN(const Value full, system.call({{"x", "full"}}));
    EXPECT_EQ(full.at("tags").value(), Value("a+b"));
    EXPECT_EQ(text_of(full.at("reply").value()),
              R"({"tags":["a","b"],"ids":[123456789,9007199254740993],"marks":[0.1],)"
              R"("people":[{"name":"Ann","langs":["en","fr"]}]})");
    ASSERT_OK_AND_ASSIGN(const Value empty, system.call({{"x", "empty"}}));
    EXPECT_EQ(empty.at("tags").value(), Value(""));
    const std::vector<Example> examples{{{{"x", "full"}}, full}, {{{"x", "empty"}}, empty}};
    ASSERT_OK_AND_ASSIGN(const Evaluation evaluation, system.evaluate(examples, exact_match()));
    EXPECT_EQ(evaluation.reward, 1.0) << "lists of other lengths are of one type";
    chat::Schema deep = chat::str();
    for (int i = 0; i < 60; ++i) deep = chat::list_of(std::move(deep));
    System nested("n", [=](const Inputs& in) { return schema_call(chat::doc({{"x", deep}}), {{"user", in["x"]}}); });
    nested.use(server.models());
    EXPECT_THAT(refusal(nested.call({{"x", "q"}})), HasSubstr("more than 50"));
}

using list_population = ::yolk::testing::DeviceTest;
YOLK_FOR_EACH_DEVICE(list_population);

struct Count {
    std::int64_t count = 1;
    static FieldsOf<Count> fields() { return {field_of("count", &Count::count).between(0, 5)}; }
};

TEST_P(list_population, candidates_find_lists_of_their_own_lengths) {
    const auto retrieve =
        hyperfunction("retrieve", Count{},
                      [](const Count& p, const Texts& all) {
                          return Texts(all.begin(), all.begin() + std::min<std::ptrdiff_t>(p.count, std::ssize(all)));
                      },
                      {.optimize = true});
    System system("s", [=](const Inputs& in) { return join(retrieve(in["all"]), "+"); });
    system.use(this->dispatcher());
    ASSERT_OK(system.add(retrieve));
    const std::vector<Example> examples{{{{"all", texts({"a", "b", "c"})}}, "a+b"}, {{{"all", texts({"d"})}}, "d"}};
    std::vector<Candidate> candidates;
    for (const double count : {0, 1, 2, 3})
        candidates.push_back({.values = {{"retrieve", Tensor::of_numbers({count})}}});
    ASSERT_OK_AND_ASSIGN(const PopulationEvaluation evaluation,
                         system.evaluate_population(candidates, examples, exact_match()));
    EXPECT_THAT(evaluation.rewards, ElementsAre(0.0, 0.5, 1.0, 0.5));
}

}  // namespace
}  // namespace yolk::hyper::list_values
