// SPDX-License-Identifier: Apache-2.0
// Derivatives of every operation, in both directions, against differences of its fp32 results. The differences are
// central and extrapolated (Richardson): D = (4 D(h/2) - D(h)) / 3, in double. Its error is that of the results, each
// within a few units of 2^-24 of itself, over h, and a term in h^4.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "derivative_cases.hpp"
#include "fixtures.hpp"
#include "yolk/internal/hyper/executor.hpp"
#include "yolk/internal/testing/device_test.hpp"

namespace yolk::hyper {
namespace {

using ::testing::HasSubstr;

constexpr double kStep = 1.0 / 16.0;

/// Numbers in (0, 1), the same in every run.
class Draw {
   public:
    explicit Draw(std::uint64_t seed) : state_(seed * 2 + 1) {}
    double operator()() {
        state_ = state_ * 6364136223846793005ULL + 1442695040888963407ULL;
        return (static_cast<double>(state_ >> 40U) + .5) / static_cast<double>(1U << 24U);
    }

   private:
    std::uint64_t state_;
};

using Point = std::vector<std::vector<double>>;  ///< elements by value

std::size_t elements(const ValueType& type) {
    return type.kind == ValueKind::Number ? 1 : static_cast<std::size_t>(type.shape.element_count().value());
}

/// Places of a grid, shuffled: no two inputs nearer than a step, none near a whole number.
Point point_of(const DerivativeCase& of, Draw& draw) {
    std::size_t count = 0;
    for (const ValueType& type : of.inputs) count += elements(type);
    std::vector<double> grid;
    for (std::size_t i = 0; i < count; ++i)
        grid.push_back(of.low + (of.high - of.low) * (static_cast<double>(i) + .7) / static_cast<double>(count));
    for (std::size_t i = count; i > 1; --i)
        std::swap(grid[i - 1], grid[static_cast<std::size_t>(draw() * static_cast<double>(i))]);
    Point point;
    std::size_t next = 0;
    for (const ValueType& type : of.inputs) {
        point.emplace_back();
        for (std::size_t i = 0; i < elements(type); ++i) point.back().push_back(grid[next++]);
    }
    return point;
}

Point drawn(std::span<const ValueType> types, Draw& draw, double scale) {
    Point point;
    for (const ValueType& type : types) {
        point.emplace_back();
        for (std::size_t i = 0; i < elements(type); ++i) point.back().push_back((draw() * 2.0 - 1.0) * scale);
    }
    return point;
}

std::vector<Value> values_of(std::span<const ValueType> types, const Point& point) {
    std::vector<Value> values;
    for (std::size_t i = 0; i < types.size(); ++i) {
        if (types[i].kind == ValueKind::Number) {
            values.emplace_back(point[i][0]);
        } else {
            values.emplace_back(Tensor::create(types[i].shape, {point[i].begin(), point[i].end()}).value());
        }
    }
    return values;
}

std::vector<double> flat(std::span<const Value> values) {
    std::vector<double> all;
    for (const Value& value : values) {
        if (const double* number = value.number()) all.push_back(*number);
        if (const Tensor* of = value.tensor()) all.insert(all.end(), of->values().begin(), of->values().end());
    }
    return all;
}

double dot(std::span<const double> a, std::span<const double> b) {
    EXPECT_EQ(a.size(), b.size());
    double sum = 0.0;
    for (std::size_t i = 0; i < std::min(a.size(), b.size()); ++i) sum += a[i] * b[i];
    return sum;
}

std::vector<double> flat(const Point& point) {
    std::vector<double> all;
    for (const auto& part : point) all.insert(all.end(), part.begin(), part.end());
    return all;
}

struct Differences {
    double value = 0.0, tolerance = 0.0;
};

/// The derivative of <w, f> along v by differences.
Differences differences(const Graph& graph, std::span<const ValueType> types, const Point& x, const Point& v,
                        std::span<const double> w) {
    const auto at = [&](double step) {
        Point moved = x;
        for (std::size_t i = 0; i < x.size(); ++i) {
            for (std::size_t k = 0; k < x[i].size(); ++k) moved[i][k] += step * v[i][k];
        }
        const auto results = call(graph, {.inputs = values_of(types, moved)});
        EXPECT_OK(results);
        return results ? flat(*results) : std::vector<double>();
    };
    const auto central = [&](double step) { return (dot(w, at(step)) - dot(w, at(-step))) / (2.0 * step); };
    double size = 0.0;
    const std::vector<double> middle = at(0.0);
    for (std::size_t i = 0; i < middle.size(); ++i) size += std::abs(w[i]) * (1.0 + std::abs(middle[i]));
    return {(4.0 * central(kStep / 2) - central(kStep)) / 3.0,
            size * (0x1p-21 / kStep + kStep * kStep * kStep * kStep)};
}

void check_case(const DerivativeCase& of, std::uint64_t seed) {
    const Graph graph = graph_of(of);
    ASSERT_OK(validate(graph)) << of.operation;
    ASSERT_FALSE(graph.outputs.empty()) << graph.name;
    const auto pushed = pushforward(graph);
    const auto pulled = pullback(graph);
    if (!of.refused.empty()) {
        EXPECT_THAT(refusal(pushed), HasSubstr(of.refused)) << graph.name;
        EXPECT_THAT(refusal(pulled), HasSubstr(of.refused)) << graph.name;
        return;
    }
    ASSERT_OK(pushed) << graph.name;
    ASSERT_OK(pulled) << graph.name;
    ASSERT_OK(validate(*pushed)) << graph.name;
    ASSERT_OK(validate(*pulled)) << graph.name;
    Draw draw(seed);
    const Point x = point_of(of, draw), v = drawn(of.inputs, draw, .5);
    std::vector<ValueType> outputs;
    for (const Atom& output : graph.outputs)
        outputs.push_back(graph.variables[std::get<VariableId>(output).value].type);
    const Point w = drawn(outputs, draw, 1.0);
    std::vector<Value> arguments = values_of(of.inputs, x);
    std::vector<Value> along = arguments, back = arguments;
    for (const Value& value : values_of(of.inputs, v)) along.push_back(value);
    for (const Value& value : values_of(outputs, w)) back.push_back(value);
    ASSERT_OK_AND_ASSIGN(const auto moved, call(*pushed, {.inputs = along}));
    ASSERT_OK_AND_ASSIGN(const auto asked, call(*pulled, {.inputs = back}));
    const std::size_t count = outputs.size();
    ASSERT_EQ(moved.size(), 2 * count);
    ASSERT_EQ(asked.size(), count + of.inputs.size());
    for (std::size_t i = 0; i < of.inputs.size(); ++i) EXPECT_EQ(type_of(asked[count + i]), of.inputs[i]) << graph.name;
    const double forward = dot(flat(w), flat(std::span(moved).subspan(count)));
    const double backward = dot(flat(v), flat(std::span(asked).subspan(count)));
    const Differences by_steps = differences(graph, of.inputs, x, v, flat(w));
    EXPECT_NEAR(forward, backward, by_steps.tolerance / 8) << graph.name << ": <w, push v> and <pull w, v>";
    if (!of.note.starts_with("not held")) {
        EXPECT_NEAR(forward, by_steps.value, by_steps.tolerance) << graph.name;
        EXPECT_NEAR(backward, by_steps.value, by_steps.tolerance) << graph.name;
    }
    EXPECT_EQ(forward != 0.0, of.moves) << graph.name << ": a derivative that is 0 shows nothing";
}

TEST(derivatives, of_every_operation_match_differences_and_each_other) {
    for (const DerivativeCase& of : derivative_cases()) {
        for (const std::uint64_t seed : {1U, 2U, 3U}) check_case(of, seed);
    }
}

TEST(derivatives, of_every_operation_on_texts_are_as_worked_out) {
    for (const TextDerivativeCase& of : text_derivative_cases()) {
        std::vector<std::pair<std::string, ValueType>> named;
        for (const Value& input : of.inputs) named.emplace_back("x" + std::to_string(named.size()), type_of(input));
        ASSERT_OK_AND_ASSIGN(const Graph graph, trace(of.operation, named, of.function));
        ASSERT_OK_AND_ASSIGN(const Graph pushed, pushforward(graph));
        ASSERT_OK_AND_ASSIGN(const Graph pulled, pullback(graph));
        std::vector<Value> along = of.inputs, back = of.inputs;
        along.insert(along.end(), of.edits.begin(), of.edits.end());
        back.insert(back.end(), of.feedback.begin(), of.feedback.end());
        ASSERT_OK_AND_ASSIGN(const auto moved, call(pushed, {.inputs = along}));
        ASSERT_OK_AND_ASSIGN(const auto asked, call(pulled, {.inputs = back}));
        const auto behind = [&](const std::vector<Value>& all) {
            return std::vector<Value>(all.begin() + static_cast<std::ptrdiff_t>(graph.outputs.size()), all.end());
        };
        EXPECT_EQ(behind(moved), of.moved) << of.operation;
        EXPECT_EQ(behind(asked), of.back) << of.operation;
    }
}

TEST(derivatives, of_kinks_are_as_stated) {
    const auto slope = [](std::string_view operation, std::vector<Value> at) {
        GraphBuilder builder("kink");
        std::vector<Atom> inputs;
        for (std::size_t i = 0; i < at.size(); ++i)
            inputs.emplace_back(builder.input(std::to_string(i), type_of(at[i])));
        const Atom y = builder.apply(operation, inputs).value();
        const Graph graph = std::move(builder).finish({y});
        std::vector<Value> arguments = at;
        const Shape one = at[0].tensor()->shape();
        arguments.emplace_back(Tensor::filled(operation == "max" || operation == "min" ? Shape{1} : one, 1.0F));
        const auto results = call(pullback(graph).value(), {.inputs = arguments});
        EXPECT_OK(results);
        return results ? flat(std::span(*results).subspan(1)) : std::vector<double>();
    };
    const Value zero = Tensor::vector({0.0F}), tie = Tensor::vector({1.0F, 1.0F, -1.0F});
    EXPECT_EQ(slope("relu", {zero}), std::vector<double>{0.0});
    EXPECT_EQ(slope("absolute", {zero}), std::vector<double>{0.0});
    EXPECT_EQ(slope("maximum", {zero, zero}), (std::vector<double>{1.0, 0.0})) << "the first of equal ones";
    EXPECT_EQ(slope("minimum", {zero, zero}), (std::vector<double>{1.0, 0.0}));
    EXPECT_EQ(slope("max", {tie}), (std::vector<double>{1.0, 0.0, 0.0}));
    EXPECT_EQ(slope("min", {Value(Tensor::vector({2.0F, 1.0F, 1.0F}))}), (std::vector<double>{0.0, 1.0, 0.0}));
    EXPECT_EQ(slope("power", {zero, zero}), (std::vector<double>{0.0, 0.0})) << "0^0";
}

/// x -> (x^3, x + 2)
Graph cubic_and_more() {
    GraphBuilder builder("cubic");
    const Atom x = builder.input("x", scalar());
    const Atom square = builder.apply("multiply", {x, x}).value();
    const Atom cube = builder.apply("multiply", {square, x}).value();
    const Atom plus = builder.apply("add", {x, Value(2.0)}).value();
    return std::move(builder).finish({cube, plus});
}

TEST(pullback, adds_up_what_is_read_several_times) {
    ASSERT_OK_AND_ASSIGN(const Graph pulled, pullback(cubic_and_more()));
    ASSERT_OK(validate(pulled));
    ASSERT_EQ(pulled.inputs.size(), 3U);
    EXPECT_EQ(pulled.inputs[1].first, "d output 0");
    ASSERT_OK_AND_ASSIGN(const auto results, call(pulled, {.inputs = {3.0, 1.0, 10.0}}));
    EXPECT_EQ(results, (std::vector<Value>{27.0, 5.0, 37.0})) << "3 x^2 + 10";
    ASSERT_OK_AND_ASSIGN(const Graph twice, pullback(pulled));
    ASSERT_OK_AND_ASSIGN(const auto second, call(twice, {.inputs = {3.0, 1.0, 10.0, 0.0, 0.0, 1.0}}));
    EXPECT_EQ(second[3], Value(18.0)) << "of 3 x^2 + d1 by x: 6 x";
    EXPECT_EQ(second[4], Value(27.0)) << "by d0: 3 x^2";
    EXPECT_EQ(second[5], Value(1.0)) << "by d1";
    EXPECT_EQ(twice.inputs[3].first, "d output 0'") << "names stay apart";
}

TEST(pullback, gives_what_was_chosen_and_refuses_other_names) {
    GraphBuilder builder("chosen");
    const Atom x = builder.input("x", scalar()), y = builder.input("y", scalar());
    const Atom word = builder.input("word", {ValueKind::Text, {}});
    const Atom w = builder.parameter("w", tensor({2}));
    const Atom xy = builder.apply("multiply", {x, y}).value();
    const Atom out = builder.apply("multiply", {w, xy}).value();
    static_cast<void>(builder.input("truth", {ValueKind::Boolean, {}}));
    const Graph graph = std::move(builder).finish({out, word});
    ASSERT_OK_AND_ASSIGN(const Graph one, pullback(graph, {.inputs = {{"y"}}, .parameters = {{"w"}}}));
    const Value weight = Tensor::vector({2.0F, 3.0F});
    ASSERT_OK_AND_ASSIGN(const auto results,
                         call(one, {.inputs = {2.0, 5.0, "hi", true, Value(Tensor::vector({1.0F, 10.0F})), "well"},
                                    .parameters = {*weight.tensor()}}));
    ASSERT_EQ(results.size(), 4U);
    EXPECT_EQ(results[2], Value(64.0)) << "x (w . d)";
    EXPECT_EQ(results[3], Value(Tensor::vector({10.0F, 100.0F}))) << "x y d";
    EXPECT_THAT(
        refusal(pullback(graph, {.inputs = {{"z"}}})),
        ::testing::AllOf(HasSubstr("pullback of graph 'chosen'"), HasSubstr("no input 'z'"), HasSubstr("x, y")));
    EXPECT_THAT(refusal(pullback(graph, {.inputs = {{"truth"}}})),
                HasSubstr("no input 'truth' that is a tensor, a number or a text"));
    EXPECT_THAT(refusal(pullback(graph, {.parameters = {{"v"}}})), HasSubstr("no parameter group 'v'"));
}

}  // namespace
}  // namespace yolk::hyper
