// SPDX-License-Identifier: Apache-2.0
// Records: named values as one, in C++, JSON, graphs and their transforms.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "fixtures.hpp"
#include "traced_graphs.hpp"
#include "yolk/graph.hpp"
#include "yolk/internal/hyper/hyperfunction.hpp"
#include "yolk/internal/hyper/operations.hpp"
#include "yolk/json.hpp"
#include "yolk/system.hpp"

namespace yolk::hyper {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;

Value record_of(Record::Fields fields) { return Record::create(std::move(fields)).value(); }

struct Answer {
    Traced mean, spread;
};
NamedValues outputs_of(const Answer& answer) { return {{"mean", answer.mean}, {"spread", answer.spread}}; }

TEST(record, holds_named_values) {
    const Value value = record_of({{"x", Tensor::vector({1, 2})}, {"why", "far"}, {"in", record_of({{"n", 3}})}});
    ASSERT_NE(value.record(), nullptr);
    EXPECT_EQ(*value.record()->find("why"), Value("far"));
    EXPECT_EQ(value.record()->find("who"), nullptr);
    EXPECT_EQ(to_string(type_of(value)), "record {x: tensor [2], why: text, in: record {n: integer}}");
    EXPECT_EQ(to_string(value), R"({x: tensor [2] (1, 2), why: "far", in: {n: 3}})");
    EXPECT_EQ(blank_of(type_of(value)),
              record_of({{"x", Tensor::vector({0, 0})}, {"why", ""}, {"in", record_of({{"n", 0}})}}));
    EXPECT_FALSE(value == record_of({{"why", "far"}, {"x", Tensor::vector({1, 2})}, {"in", record_of({{"n", 3}})}}))
        << "the order counts";
    EXPECT_THAT(refusal(value.as_number()), HasSubstr("record"));
}

TEST(record, refuses_names_that_tell_nothing_apart) {
    EXPECT_THAT(refusal(Record::create({{"a", 1}, {"b", 2}, {"a", 3}})),
                HasSubstr("Fields 0 and 2 of a record are both 'a'"));
    EXPECT_THAT(refusal(Record::create({{"", 1}})), HasSubstr("Field 0"));
}

TEST(record, is_an_object_in_json) {
    const Value value = record_of({{"x", Tensor::vector({1, 2})}, {"in", record_of({{"yes", true}})}});
    EXPECT_EQ(to_line(to_json(value)), R"({"x":[1.0,2.0],"in":{"yes":true}})");
    ASSERT_OK_AND_ASSIGN(const Value again, value_from_json(to_json(value)));
    EXPECT_EQ(again, value);
    EXPECT_THAT(refusal(value_from_json(Json::parse(R"({"a": {"b": null}})"))),
                AllOf(HasSubstr("field 'a'"), HasSubstr("field 'b'"), HasSubstr("null is not a value")));
}

/// x -> {twice: 2 x, square: x^2}, then square + twice through its fields.
Graph program(bool as_record) {
    return traced("program", {{"x", tensor_type({2})}}, [=](std::span<const Traced> in) {
        const Traced both = pack({{"twice", in[0] * 2.0}, {"square", in[0] * in[0]}});
        if (as_record) return TracedValues{both};
        return TracedValues{field(both, "square") + field(both, "twice")};
    });
}

TEST(record, packs_and_unpacks_in_a_graph) {
    EXPECT_EQ(run(program(true), {vector({1, 3})})[0],
              record_of({{"twice", Tensor::vector({2, 6})}, {"square", Tensor::vector({1, 9})}}));
    const Graph taken = program(false);
    EXPECT_THAT(operations_of(taken), Not(::testing::Contains("field"))) << "what was packed here is known";
    EXPECT_EQ(run(taken, {vector({1, 3})})[0], vector({3, 15}));
    EXPECT_THAT(to_text(program(true)).value(),
                AllOf(HasSubstr("record {twice: tensor [2], square: tensor [2]} = pack"),
                      HasSubstr(R"(names=["twice","square"])")));
}

TEST(record, names_count_in_signatures) {
    const auto named = [](const std::string& name) {
        return traced("one", {{"x", number_type()}}, [&](std::span<const Traced> in) {
            return TracedValues{pack({{name, in[0]}})};
        });
    };
    EXPECT_EQ(signature(named("a")).value(), signature(named("a")).value());
    EXPECT_NE(signature(named("a")).value(), signature(named("b")).value());
}

TEST(record, says_which_fields_there_are) {
    const InputTypes x{{"x", number_type()}};
    const auto graph = trace("wrong", x, [](std::span<const Traced> in) {
        return TracedValues{field(pack({{"a", in[0]}, {"b", in[0]}}), "c")};
    });
    EXPECT_THAT(refusal(graph), AllOf(HasSubstr("no field 'c'"), HasSubstr("'a', 'b'"), HasSubstr("record_test.cpp:")));
    const auto number = trace("wrong", x, [](std::span<const Traced> in) { return TracedValues{field(in[0], "c")}; });
    EXPECT_THAT(refusal(number), AllOf(HasSubstr("it was given number"), HasSubstr("it takes a record")));
    const auto twice = trace("wrong", x, [](std::span<const Traced> in) {
        return TracedValues{pack({{"a", in[0]}, {"a", 1.0}})};
    });
    EXPECT_THAT(refusal(twice), HasSubstr("both 'a'"));
    Graph broken = program(true);
    broken.equations.back().attributes[0].second = std::vector<std::string>{"twice"};
    EXPECT_THAT(refusal(validate(broken)), HasSubstr("1 names for 2 values"));
}

/// {a: x^2, why: text} in, its field times y out: nothing in the graph packs it.
Graph of_record() {
    const ValueType given{.kind = ValueKind::Record, .fields = {{"a", tensor_type({1})}, {"why", text_type()}}};
    return traced("of a record", {{"r", given}, {"y", tensor_type({1})}}, [](std::span<const Traced> in) {
        const Traced a = field(in[0], "a");
        return TracedValues{a * a * in[1], field(in[0], "why")};
    });
}
Value given_record(float a) { return record_of({{"a", Tensor::vector({a})}, {"why", "w"}}); }
/// How such a record moves.
Value movement(float a, const char* why) { return record_of({{"a", Tensor::vector({a})}, {"why", why}}); }

TEST(record, moves_as_a_record) {
    ASSERT_OK_AND_ASSIGN(const Graph pushed, pushforward(program(true)));
    EXPECT_EQ(run(pushed, {vector({1, 3}), vector({1, 10})})[1],
              record_of({{"twice", Tensor::vector({2, 20})}, {"square", Tensor::vector({2, 60})}}));
    ASSERT_OK_AND_ASSIGN(const Graph pulled, pullback(program(true)));
    const Value back = record_of({{"twice", Tensor::vector({1, 0})}, {"square", Tensor::vector({0, 10})}});
    EXPECT_EQ(run(pulled, {vector({1, 3}), back})[1], vector({2, 60}));
    // a = 3, y = 2: a^2 y = 18; 2 a y = 12, a^2 = 9.
    ASSERT_OK_AND_ASSIGN(const Graph pulled_record, pullback(of_record()));
    EXPECT_EQ(run(pulled_record, {given_record(3), vector({2}), vector({10}), "vague"}),
              (std::vector<Value>{vector({18}), "w", movement(120, "vague"), vector({90})}));
    ASSERT_OK_AND_ASSIGN(const Graph pushed_record, pushforward(of_record()));
    EXPECT_EQ(run(pushed_record, {given_record(3), vector({2}), movement(1, "v"), vector({10})}),
              (std::vector<Value>{vector({18}), "w", vector({102}), "v"}));
}

TEST(record, adds_up_where_it_is_read_twice) {
    const ValueType given{.kind = ValueKind::Record, .fields = {{"a", number_type()}, {"why", text_type()}}};
    const Graph graph = traced("twice", {{"r", given}, {"first", boolean_type()}}, [&](std::span<const Traced> in) {
        const Traced chosen = select(in[1], in[0], Traced(record_of({{"a", 7.0}, {"why", ""}})));
        return TracedValues{field(chosen, "a") * field(in[0], "a")};
    });
    const Value r = record_of({{"a", 3.0}, {"why", "w"}});
    ASSERT_OK_AND_ASSIGN(const Graph pulled, pullback(graph));
    EXPECT_EQ(run(pulled, {r, true, 1.0})[1], record_of({{"a", 6.0}, {"why", ""}})) << "of a^2";
    EXPECT_EQ(run(pulled, {r, false, 1.0})[1], record_of({{"a", 7.0}, {"why", ""}})) << "of 7 a";
}

TEST(record, goes_through_loops_and_branches) {
    const ValueType state{.kind = ValueKind::Record, .fields = {{"x", number_type()}, {"n", number_type()}}};
    const Graph graph = traced("loop", {{"s", state}}, [](std::span<const Traced> in) {
        const Traced last = while_loop(
            in[0], [](const Traced& s) { return less(field(s, "n"), 3.0); },
            [](const Traced& s) {
                return pack({{"x", field(s, "x") * field(s, "x")}, {"n", field(s, "n") + 1.0}});
            },
            9);
        return TracedValues{field(last, "x")};
    });
    const auto start = [](double x, double n) { return record_of({{"x", x}, {"n", n}}); };
    EXPECT_EQ(run(graph, {start(2, 1)})[0], Value(16.0)) << "squared twice";
    ASSERT_OK_AND_ASSIGN(const Graph pulled, pullback(graph));
    EXPECT_EQ(run(pulled, {start(2, 1), 1.0})[1], start(32, 0)) << "of x^4";
    ASSERT_OK_AND_ASSIGN(const Graph each, batch(graph, {.size = 2}));
    EXPECT_EQ(run(each, {start(2, 1), start(3, 2)})[0], vector({16, 9}));
}

TEST(record, of_a_batch_is_one_for_each_element) {
    ASSERT_OK_AND_ASSIGN(const Graph packed_each, batch(program(true), {.size = 2}));
    EXPECT_EQ(run(packed_each, {matrix(2, {1, 3, 2, 0})}),
              (std::vector<Value>{record_of({{"twice", Tensor::vector({2, 6})}, {"square", Tensor::vector({1, 9})}}),
                                  record_of({{"twice", Tensor::vector({4, 0})}, {"square", Tensor::vector({4, 0})}})}));
    ASSERT_OK_AND_ASSIGN(const Graph each, batch(of_record(), {.size = 2}));
    EXPECT_EQ(run(each, {given_record(3), given_record(4), matrix(2, {2, 1})}),
              (std::vector<Value>{matrix(2, {18, 16}), "w", "w"}));
}

TEST(record, dissolves_where_a_graph_packs_it) {
    const Graph graph = traced("caller", {{"x", tensor_type({2})}}, [&](std::span<const Traced> in) {
        const Traced both = custom_call("both", in, [](std::span<const Traced> x) {
            return pack({{"twice", x[0] * 2.0}, {"unused", exp(x[0])}});
        });
        return TracedValues{field(both, "twice")};
    });
    ASSERT_OK_AND_ASSIGN(const Graph flat, inline_calls(graph));
    EXPECT_THAT(operations_of(flat), Not(::testing::Contains("field")));
    ASSERT_OK_AND_ASSIGN(const Graph lean, dce(flat, {true}));
    EXPECT_THAT(operations_of(lean), ElementsAre("multiply"));
    EXPECT_EQ(run(lean, {vector({1, 3})})[0], vector({2, 6}));
}

TEST(record, is_remembered_by_its_contents) {
    Memo memo;
    const Graph graph = of_record();
    for (const float a : {3.0F, 4.0F, 3.0F})
        EXPECT_EQ(call(graph, {.inputs = {given_record(a), vector({2})}}, memo).value()[0], vector({a * a * 2}));
    EXPECT_GT(memo.hits(), 0U);
}

TEST(record, outputs_keep_their_names_through_transforms) {
    Graph graph = traced("two", {{"x", tensor_type({1})}}, [](std::span<const Traced> in) {
        return TracedValues{in[0] * 2.0, in[0] * in[0]};
    });
    graph.output_names = {"twice", "square"};
    EXPECT_OK(validate(graph));
    EXPECT_THAT(to_text(graph).value(), HasSubstr("\"square\""));
    EXPECT_THAT(dce(graph, {false, true})->output_names, ElementsAre("square"));
    EXPECT_THAT(batch(graph, {.size = 2})->output_names, ElementsAre("twice", "square"));
    EXPECT_THAT(pushforward(graph)->output_names, ElementsAre("twice", "square", "d twice", "d square"));
    EXPECT_THAT(pullback(graph)->output_names, ElementsAre("twice", "square", "d x"));
    EXPECT_THAT(weighted(graph)->output_names, ElementsAre("twice", "square", "weight"));
    EXPECT_THAT(fold(as_call(graph).value())->output_names, ElementsAre("twice", "square"));
    graph.output_names = {"twice"};
    EXPECT_THAT(refusal(validate(graph)), HasSubstr("1 names for 2 outputs"));
}

TEST(record, is_what_a_system_of_several_outputs_gives) {
    const auto scale = hyperfunction("scale", VectorWeight{.size = 1, .values = Tensor::vector({3})},
                                     [](const Traced& w, const Traced& x) {
                                         return std::tuple{w * x, x};
                                     });
    System tuple("tuple", [=](const Inputs& in) { return std::tuple{field(scale(in["x"]), "0"), in["x"]}; });
    EXPECT_EQ(tuple.call({{"x", Tensor::vector({2})}}).value(),
              record_of({{"0", Tensor::vector({6})}, {"1", Tensor::vector({2})}}));
    System named("named", [](const Inputs& in) { return Answer{in["x"] * 2.0, in["x"] - 1.0}; });
    EXPECT_EQ(named.call({{"x", 5.0}}).value(), record_of({{"mean", 10.0}, {"spread", 4.0}}));
}

}  // namespace
}  // namespace yolk::hyper
