// SPDX-License-Identifier: Apache-2.0
// Integers of 64 bits, and numbers as they were written: through arithmetic, texts, JSON, batches and loops.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "fixtures.hpp"
#include "traced_graphs.hpp"
#include "yolk/graph.hpp"
#include "yolk/json.hpp"
#include "yolk/optimize.hpp"
#include "yolk/system.hpp"

namespace yolk::hyper::integer_values {  // its short names are others' as well
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using Inside = std::span<const Traced>;
using Values = std::vector<Value>;

constexpr std::int64_t kBig = 9007199254740993;  // 2^53 + 1, which no double is
constexpr std::int64_t kMost = std::numeric_limits<std::int64_t>::max();
constexpr std::int64_t kLeast = std::numeric_limits<std::int64_t>::min();

ValueType integer_type() { return {ValueKind::Integer, {}}; }

/// What an expression over literals is.
Value now(const Traced& x) { return x.read(); }
Result<Value> called(const std::function<Traced(const Inputs&)>& function, std::map<std::string, Value> inputs) {
    return System("s", function).call(inputs);
}
std::string kind_of(const Value& value) { return std::string(to_string(value.kind())); }

TEST(integers, are_a_kind_of_value_with_64_bits) {
    EXPECT_EQ(kind_of(Value(3)), "integer");
    EXPECT_EQ(kind_of(Value(3.0)), "number");
    EXPECT_EQ(kind_of(Value(std::uint32_t{4294967295})), "integer");
    EXPECT_EQ(*Value(kBig).integer(), kBig);
    EXPECT_EQ(Value(3), Value(3.0)) << "of one value";
    EXPECT_FALSE(Value(kBig) == Value(static_cast<double>(kBig))) << "no double is 2^53 + 1";
    EXPECT_FALSE(Value(kMost) == Value(0x1p63));
    EXPECT_FALSE(Value(1) == Value(true));
    EXPECT_EQ(Value(7).as_number().value(), 7.0);
    EXPECT_EQ(Value(std::int64_t{1} << 60U).as_number().value(), 0x1p60);
    EXPECT_THAT(refusal(Value(kBig).as_number()), HasSubstr("9007199254740993"));
    EXPECT_EQ(Value(5.0).as_integer().value(), 5);
    EXPECT_EQ(Value(Tensor::vector({5.0F})).as_integer().value(), 5);
    EXPECT_THAT(refusal(Value(5.5).as_integer()), HasSubstr("5.5"));
    EXPECT_FALSE(Value(std::nan("")).as_integer());
    EXPECT_FALSE(Value(0x1p60).as_integer()) << "which integer it was is not known";
    EXPECT_FALSE(Value("5").as_integer());
}

TEST(integers, are_json_as_they_are) {
    for (const Value& value :
         {Value(3), Value(kBig), Value(kMost), Value(kLeast), Value(3.0), Value(.1), Value(1e300)}) {
        const std::string line = to_line(to_json(value));
        ASSERT_OK_AND_ASSIGN(const Json json, parse_json(line, "a value"));
        ASSERT_OK_AND_ASSIGN(const Value again, value_from_json(json));
        EXPECT_EQ(again, value);
        EXPECT_EQ(kind_of(again), kind_of(value)) << line;
    }
    EXPECT_EQ(to_line(to_json(Value(3))), "3");
    EXPECT_EQ(to_line(to_json(Value(3.0))), "3.0");
    EXPECT_THAT(refusal(value_from_json(Json::parse("18446744073709551615"))), HasSubstr("18446744073709551615"));
    EXPECT_EQ(value_from_json(Json::parse("[1, 2]")).value(), vector({1, 2}));
    EXPECT_EQ(*value_from_json(Json::parse("[123456789]")).value().at(0).value().integer(), 123456789)
        << "fp32 does not hold it: a list";
    EXPECT_EQ(value_from_json(Json::parse("[1e300]")).value().at(0).value(), Value(1e300));
}

TEST(integers, are_texts_in_the_shortest_form) {
    const auto shown = [](const Traced& x) { return *now(format("{}", {x})).text(); };
    EXPECT_EQ(shown(3), "3");
    EXPECT_EQ(shown(kBig), "9007199254740993");
    EXPECT_EQ(shown(std::size_t{7}), "7");
    EXPECT_EQ(shown(3.0), "3.0") << "a number, as it was written";
    EXPECT_EQ(shown(.1), "0.1");
    EXPECT_EQ(shown(-.25), "-0.25");
    EXPECT_EQ(shown(1e300), "1e+300");
    EXPECT_EQ(shown(123456789012.0), "123456789012.0");
    EXPECT_EQ(shown(std::nan("")), "nan");
    EXPECT_EQ(shown(true), "true");
    EXPECT_EQ(shown(Value("x")), "x");
    EXPECT_EQ(shown(Tensor::vector({.1F, 3.0F})), "[0.1,3.0]");
    EXPECT_EQ(shown(Value(*Record::create({{"n", 3}, {"x", 2.0}, {"t", "a\"b"}}))), R"({"n":3,"x":2.0,"t":"a\"b"})");
    EXPECT_EQ(to_string(Value(kBig)), "9007199254740993");
}

TEST(integers, and_braces_stand_in_patterns) {
    EXPECT_EQ(now(format("{{}}", {})), Value("{}"));
    EXPECT_EQ(now(format("{{\"n\": {}}}", {4})), Value("{\"n\": 4}"));
    EXPECT_EQ(now(format("{}{{{}}}{}", {1, 2, 3})), Value("1{2}3"));
    const auto refused = [](const std::string& pattern) {
        return refusal(called([=](const Inputs& in) { return format(pattern, {in["x"]}); }, {{"x", 1}}));
    };
    EXPECT_THAT(refused("{\"n\": {}}"), AllOf(HasSubstr("single {"), HasSubstr("byte 0"), HasSubstr("{{ and }}")));
    EXPECT_THAT(refused("{} }"), AllOf(HasSubstr("single }"), HasSubstr("byte 3")));
    EXPECT_THAT(refused("{0}"), HasSubstr("single {"));
    EXPECT_THAT(refused("{} {"), HasSubstr("single {"));
    EXPECT_THAT(refused("{{}}"), HasSubstr("0 places"));
}

TEST(integers, stay_exact_in_arithmetic) {
    EXPECT_EQ(*now(Traced(kBig) + 2).integer(), kBig + 2);
    EXPECT_EQ(*now(Traced(kBig) - 2).integer(), kBig - 2);
    EXPECT_EQ(*now(Traced(94906267) * 94906267).integer(), 9007199515875289);
    EXPECT_EQ(*now(-Traced(kBig)).integer(), -kBig);
    EXPECT_EQ(*now(maximum(kBig, kBig + 1)).integer(), kBig + 1);
    EXPECT_EQ(*now(minimum(kBig, kBig + 1)).integer(), kBig);
    EXPECT_EQ(*now(clamp(kBig + 5, 0, kBig + 1)).integer(), kBig + 1);
    EXPECT_EQ(*now(absolute(-kBig)).integer(), kBig);
    EXPECT_EQ(*now(relu(-3)).integer(), 0);
    EXPECT_EQ(*now(floor(kBig)).integer(), kBig);
    EXPECT_EQ(*now(where(less_than(kBig - 1, kBig), kBig, 0)).integer(), kBig);
    EXPECT_EQ(*now(less(kBig - 1, kBig)).boolean(), true) << "as doubles they are equal";
    EXPECT_EQ(now(less_than(kBig - 1, kBig)), Value(1.0));
    EXPECT_EQ(now(equal_to(kBig - 1, kBig)), Value(0.0));
    EXPECT_EQ(*now(equal(kBig - 1, kBig)).boolean(), false);
    EXPECT_EQ(*now(equal(3, 3.0)).boolean(), true);
}

TEST(integers, become_numbers_beside_numbers) {
    for (const Traced& x : {Traced(3) + .5, Traced(3) * 1.0, Traced(7) / 2, power(2, 3), sqrt(4), select(true, 3, .5),
                            where(1, 3, .5), to_number(3)}) {
        EXPECT_EQ(kind_of(now(x)), "number") << to_string(now(x));
    }
    EXPECT_EQ(now(Traced(7) / 2), Value(3.5));
    EXPECT_EQ(now(select(true, 3, .5)), Value(3.0));
    EXPECT_EQ(*now(to_integer(3.0)).integer(), 3);
    EXPECT_EQ(now(Traced(Tensor::vector({1, 2})) * 3), vector({3, 6}));
    EXPECT_EQ(now(3 - Traced(Tensor::vector({1, 2}))), vector({2, 1}));
    const auto refused = [](const std::function<Traced(const Traced&)>& f, const Value& x) {
        return refusal(called([=](const Inputs& in) { return f(in["x"]); }, {{"x", x}}));
    };
    EXPECT_THAT(refused([](const Traced& x) { return x + 1; }, kMost), AllOf(HasSubstr("add"), HasSubstr("64 bits")));
    EXPECT_THAT(refused([](const Traced& x) { return x * x; }, kBig), HasSubstr("64 bits"));
    EXPECT_THAT(refused([](const Traced& x) { return -x; }, kLeast), HasSubstr("64 bits"));
    EXPECT_THAT(refused([](const Traced& x) { return x + .5; }, kBig), HasSubstr("no double"));
    EXPECT_THAT(refused([](const Traced& x) { return to_integer(x); }, 2.5), HasSubstr("2.5"));
    EXPECT_THAT(refused([](const Traced& x) { return x + "a"; }, 1), HasSubstr("text"));
}

TEST(integers, go_through_host_functions) {
    const auto next = hyperfunction("next", NoParameters{}, [](std::int64_t n) { return n + 1; });
    const auto half = hyperfunction("half", NoParameters{}, [](double x) { return x / 2; });
    const auto wide = hyperfunction("wide", NoParameters{}, [](std::int64_t) { return ~std::uint64_t{0}; });
    const auto small = hyperfunction("small", NoParameters{}, [](std::uint8_t n) { return int{n}; });
    EXPECT_EQ(*called([=](const Inputs& in) { return next(in["n"]); }, {{"n", kBig}}).value().integer(), kBig + 1);
    EXPECT_EQ(*called([=](const Inputs&) { return next(kBig); }, {}).value().integer(), kBig + 1) << "a constant";
    EXPECT_EQ(called([=](const Inputs& in) { return half(in["n"]); }, {{"n", 3}}).value(), Value(1.5));
    EXPECT_EQ(called([=](const Inputs& in) { return half(in["n"]); }, {{"n", vector({.1F})}}).value(), Value(.05));
    EXPECT_THAT(refusal(called([=](const Inputs& in) { return next(in["n"]); }, {{"n", 2.5}})),
                HasSubstr("a whole number in range"));
    EXPECT_THAT(refusal(called([=](const Inputs& in) { return small(in["n"]); }, {{"n", 256}})),
                HasSubstr("a whole number in range"));
    EXPECT_THAT(refusal(called([=](const Inputs& in) { return wide(in["n"]); }, {{"n", 1}})),
                HasSubstr("18446744073709551615"));
}

TEST(integers, of_some_examples_and_numbers_of_others_have_one_structure) {
    System system("s", [](const Inputs& in) { return in["x"] * 2.0; });
    const std::vector<Example> examples{{{{"x", 1}}, 2}, {{{"x", .5}}, 1.0}, {{{"x", 2}}, 4}};
    ASSERT_OK_AND_ASSIGN(const Evaluation evaluation, system.evaluate(examples, exact_match()));
    EXPECT_EQ(evaluation.reward, 1.0);
    EXPECT_EQ(system.function_runs(), 1U) << "all of them are numbers";
    const std::vector<Example> large{{{{"x", kBig}}, 0}, {{{"x", .5}}, 0}};
    EXPECT_THAT(refusal(system.evaluate(large, exact_match())), AllOf(HasSubstr("'x'"), HasSubstr("no double")));
}

TEST(integers, are_given_to_graphs_for_numbers_and_back) {
    const Graph graph = traced("g", {{"x", number_type()}, {"n", integer_type()}}, [](Inside in) {
        return TracedValues{in[0] + 1, in[1] + 1};
    });
    const Values results = run(graph, {3, 4.0});
    EXPECT_EQ(results, (Values{4.0, 5}));
    EXPECT_EQ(kind_of(results[0]) + " " + kind_of(results[1]), "number integer");
    EXPECT_THAT(refusal(call(graph, {.inputs = {3, 4.5}})), AllOf(HasSubstr("input 'n'"), HasSubstr("4.5")));
    EXPECT_THAT(refusal(call(graph, {.inputs = {kBig, 4}})), AllOf(HasSubstr("input 'x'"), HasSubstr("no double")));
    const std::vector<std::pair<std::string, Value>> fixed{{"x", 3}};
    ASSERT_OK_AND_ASSIGN(const Graph without, with_static_inputs(graph, fixed));
    EXPECT_EQ(kind_of(run(without, {1}).at(0)), "number");
    Memo memo;
    ASSERT_OK_AND_ASSIGN(const Values first, call(graph, {.inputs = {1, kBig}}, memo));
    ASSERT_OK_AND_ASSIGN(const Values second, call(graph, {.inputs = {1, kBig + 1}}, memo));
    EXPECT_EQ(*first[1].integer() + 1, *second[1].integer());
}

TEST(integers, carry_loops_and_choose_branches) {
    const auto counted = [](const Traced& n) {
        return while_loop(
            n, [](const Traced& i) { return less(i, 10); }, [](const Traced& i) { return i + 1; }, 20);
    };
    EXPECT_EQ(*called([=](const Inputs& in) { return counted(in["n"]); }, {{"n", 0}}).value().integer(), 10);
    EXPECT_EQ(*now(counted(3)).integer(), 10);
    const Value grown = now(while_loop(
        1, [](const Traced& i) { return less(i, 10); }, [](const Traced& i) { return i * 1.5; }, 20));
    EXPECT_EQ(grown, Value(std::pow(1.5, 6))) << "begun with an integer, it is a number";
    const Value reset = now(while_loop(
        .5, [](const Traced& i) { return less(i, 1.0); }, [](const Traced&) { return Traced(7); }, 20));
    EXPECT_EQ(kind_of(reset), "number");
    for (const int key : {0, 1}) {
        const Value chosen = now(switch_on(key, {[] { return Traced(3); }, [] { return Traced(.5); }}));
        EXPECT_EQ(chosen, Value(key == 0 ? 3.0 : .5));
        EXPECT_EQ(kind_of(chosen), "number");
    }
    const auto scanned = scan(0, Tensor::vector({1, 2, 3}), [](const Traced& n, const Traced& x) {
        return std::pair{n + 1, x * n};
    });
    EXPECT_EQ(*now(scanned.first).integer(), 3);
    EXPECT_EQ(now(scanned.second), matrix(3, {0, 2, 6}));
    EXPECT_THAT(refusal(called(
                    [](const Inputs& in) {
                        return scan(in["n"], Tensor::vector({1, 2}),
                                    [](const Traced& n, const Traced&) {
                                        return std::pair{n + 1, n};
                                    })
                            .second;
                    },
                    {{"n", 0}})),
                AllOf(HasSubstr("is an integer"), HasSubstr("to_number")));
    EXPECT_EQ(now(switch_on("b", NamedBranches{{"a", [] { return Traced(1); }}, {"b", [] { return Traced(2); }}})),
              Value(2));
    EXPECT_EQ(kind_of(now(word_index("b", {"a", "b"}))), "integer");
}

TEST(integers, of_a_batch_are_listed_and_numbers_are_as_written) {
    const Graph graph = traced("g", {{"n", integer_type()}, {"x", number_type()}}, [](Inside in) {
        return TracedValues{in[0] + 1, in[0] * in[1], format("{} {}", {in[0], in[1]}), less(in[0], 5),
                            select(less(in[0], 5), in[0], in[0] * 2)};
    });
    ASSERT_OK_AND_ASSIGN(const Graph batched, batch(graph, {.size = 2}));
    EXPECT_EQ(batched.inputs[0].first, "n 0");
    EXPECT_EQ(run(batched, {3, kBig, vector({.1F, .5F})}),
              (Values{4, kBig + 1, vector({.3F, static_cast<float>(kBig) * .5F}), "3 0.1", "9007199254740993 0.5",
                      vector({1, 0}), 3, kBig * 2}));
    ASSERT_OK_AND_ASSIGN(const Graph shared, batch(graph, {.size = 2, .axes = {std::nullopt, 0}}));
    EXPECT_EQ(run(shared, {kBig, vector({.1F, .7F})}).at(3), Value("9007199254740993 0.1"));
    const auto tool = hyperfunction("tool", NoParameters{}, [](double x) { return x; });
    const Graph host =
        traced("h", {{"x", number_type()}}, [&](Inside in) { return TracedValues{format("{}", {tool(in[0])})}; });
    ASSERT_OK_AND_ASSIGN(const Graph each, batch(host, {.size = 2}));
    EXPECT_EQ(call(each, {.inputs = {vector({.1F, .7F})}}).value(), (Values{"0.1", "0.7"}));
    const Graph loops = traced("l", {{"n", integer_type()}}, [](Inside in) {
        return TracedValues{
            while_loop(
                in[0], [](const Traced& i) { return less(i, kBig); }, [](const Traced& i) { return i + 1; }, 9),
            switch_on(in[0] - in[0] + 1, {[] { return Traced("a"); }, [] { return Traced("b"); }})};
    });
    ASSERT_OK_AND_ASSIGN(const Graph steps, batch(loops, {.size = 2}));
    EXPECT_EQ(run(steps, {kBig - 2, kBig + 5}), (Values{kBig, kBig + 5, "b", "b"}));
}

TEST(integers, do_not_move) {
    const Graph graph = traced("g", {{"x", number_type()}, {"n", integer_type()}}, [](Inside in) {
        return TracedValues{in[0] * in[1] + 2 * in[0], in[1] + 1};
    });
    ASSERT_OK_AND_ASSIGN(const Graph pulled, pullback(graph));
    EXPECT_EQ(run(pulled, {1.5, 3, 1.0}), (Values{7.5, 4, 5.0}));
    ASSERT_OK_AND_ASSIGN(const Graph pushed, pushforward(graph));
    EXPECT_EQ(run(pushed, {1.5, 3, 1.0}), (Values{7.5, 4, 5.0}));
    EXPECT_THAT(refusal(pullback(graph, {.inputs = {{"n"}}})), HasSubstr("'n' is of the type integer"));
    const Graph scanned = traced("s", {{"x", number_type()}, {"n", integer_type()}}, [](Inside in) {
        const Traced init[] = {in[1], in[0]};
        const Scanned all = scan(init, {},
                                 [](Inside carries, Inside) {
                                     return Scanned{{carries[0] + 1, carries[1] * carries[0]}, {}};
                                 },
                                 {.length = 3});
        return TracedValues{all.carries[1]};
    });
    ASSERT_OK_AND_ASSIGN(const Graph back, pullback(scanned));
    EXPECT_EQ(run(back, {2.0, 1, 1.0}), (Values{12.0, 6.0}));
    EXPECT_THAT(refusal(call(back, {.inputs = {2.0, 16777217, 1.0}})), HasSubstr("fp32"));
}

TEST(integers, are_weights) {
    const Graph graph = traced("w", {{"n", integer_type()}}, [](Inside in) { return TracedValues{factor(in[0]) + 1}; });
    ASSERT_OK_AND_ASSIGN(const Graph weights, weighted(graph));
    EXPECT_EQ(run(weights, {3}), (Values{4, 3.0}));
    EXPECT_THAT(refusal(call(weights, {.inputs = {-3}})), HasSubstr("-3"));
}

TEST(integers, of_graphs_are_told_apart_by_kind) {
    const auto constant = [](const Traced& c) {
        return traced("g", {{"x", number_type()}}, [=](Inside in) { return TracedValues{in[0], c}; });
    };
    EXPECT_NE(signature(constant(3)).value(), signature(constant(3.0)).value());
    EXPECT_EQ(signature(constant(3)).value(), signature(constant(4)).value());
}

}  // namespace
}  // namespace yolk::hyper::integer_values
