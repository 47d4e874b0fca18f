// SPDX-License-Identifier: Apache-2.0
// The cases; what is checked with them is in derivatives_test.cpp and batch_test.cpp. Here: that they leave nothing
// out.
#include "derivative_cases.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <set>

#include "graph_copy.hpp"
#include "tracer.hpp"
#include "yolk/graph.hpp"
#include "yolk/internal/testing/device_test.hpp"

namespace yolk::hyper {
namespace {

using Whole = std::vector<std::int64_t>;

Value ids(std::vector<float> values, Shape shape) {
    return Tensor::create(std::move(shape), std::move(values)).value();
}

Attributes at_dimension(std::int64_t dimension) { return {{"dimension", dimension}}; }
Attributes reduced(std::int64_t dimension, std::int64_t keep) { return {{"dimension", dimension}, {"keep", keep}}; }

DerivativeCase noted(DerivativeCase of, std::string note) {
    of.note = std::move(note);
    return of;
}

/// The operation on the inputs and a last operand that does not move.
DerivativeCase with_literal(std::string operation, std::vector<ValueType> inputs, std::size_t place, Value literal,
                            Attributes attributes = {}) {
    DerivativeCase of = plain_case(operation, std::move(inputs));
    of.build = [operation, place, literal, attributes](GraphBuilder& builder, std::vector<Atom> x) {
        x.insert(x.begin() + static_cast<std::ptrdiff_t>(place), literal);
        return builder.add({.operation = find_operation(operation), .operands = x, .attributes = attributes});
    };
    return of;
}

void add_elementwise_cases(std::vector<DerivativeCase>& all) {
    const ValueType matrix = tensor({2, 3}), row = tensor({3}), column = tensor({2, 1});
    for (const char* operation : {"add", "subtract", "multiply", "maximum", "minimum", "divide", "power"}) {
        const bool positive = std::string(operation) == "divide" || std::string(operation) == "power";
        const double low = positive ? .5 : -2.0;
        all.push_back(plain_case(operation, {matrix, matrix}, low));
        all.push_back(noted(plain_case(operation, {matrix, row}, low), "a row"));
        all.push_back(noted(plain_case(operation, {row, matrix}, low), "a row first"));
        all.push_back(noted(plain_case(operation, {column, row}, low), "a column and a row"));
        all.push_back(noted(plain_case(operation, {tensor({2, 1, 3}), matrix}, low), "three dimensions"));
        all.push_back(noted(plain_case(operation, {matrix, scalar()}, low), "a number"));
        all.push_back(noted(plain_case(operation, {scalar(), matrix}, low), "a number first"));
        all.push_back(noted(plain_case(operation, {scalar(), scalar()}, low), "numbers"));
    }
    for (const char* operation :
         {"negate", "absolute", "sin", "cos", "exp", "relu", "gelu", "silu", "tanh", "sigmoid"}) {
        all.push_back(plain_case(operation, {tensor({3, 5})}));
        all.push_back(noted(plain_case(operation, {scalar()}), "a number"));
    }
    for (const char* operation : {"sqrt", "rsqrt", "log"}) all.push_back(plain_case(operation, {matrix}, .5, 3.0));
    for (const char* operation : {"floor", "round"}) all.push_back(still_case(operation, {matrix}));
    for (const char* operation :
         {"less_than", "less_or_equal", "greater_than", "greater_or_equal", "equal_to", "not_equal_to"})
        all.push_back(still_case(operation, {matrix, row}));
    const Value condition = ids({1, 0, 0, 1, 1, 0}, {2, 3});
    all.push_back(with_literal("where", {matrix, matrix}, 0, condition));
    all.push_back(noted(with_literal("where", {row, scalar()}, 0, condition), "a row and a number"));
    all.push_back(with_literal("select", {matrix, matrix}, 0, true));
    all.push_back(noted(with_literal("select", {scalar(), scalar()}, 0, false), "numbers"));
}

void add_reduction_cases(std::vector<DerivativeCase>& all) {
    for (const char* operation : {"sum", "mean", "max", "min"}) {
        all.push_back(plain_case(operation, {tensor({2, 3})}));
        all.push_back(noted(plain_case(operation, {tensor({5})}), "a row"));
        all.push_back(noted(plain_case(operation, {tensor({2, 3, 2})}, -2, 2, reduced(1, 0)), "in the middle"));
        all.push_back(noted(plain_case(operation, {tensor({3, 2})}, -2, 2, reduced(0, 1)), "kept"));
    }
    all.push_back(still_case("argmax", {tensor({2, 3})}));
    all.push_back(plain_case("cumulative_sum", {tensor({2, 3, 2})}, -2, 2, at_dimension(1)));
    for (const char* operation : {"softmax", "log_softmax"}) all.push_back(plain_case(operation, {tensor({2, 5})}));
    for (const char* operation : {"layer_norm", "rms_norm"})
        all.push_back(plain_case(operation, {tensor({2, 5})}, -2, 2, {{"epsilon", 1e-5}}));
}

void add_rearranging_cases(std::vector<DerivativeCase>& all) {
    all.push_back(plain_case("reshape", {tensor({2, 3})}, -2, 2, {{"shape", Whole{3, 2}}}));
    all.push_back(plain_case("permute", {tensor({2, 3, 4})}, -2, 2, {{"order", Whole{2, 0, 1}}}));
    all.push_back(plain_case("broadcast_to", {tensor({2, 1})}, -2, 2, {{"shape", Whole{3, 2, 4}}}));
    all.push_back(plain_case("slice", {tensor({4, 5})}, -2, 2,
                             {{"starts", Whole{1, 0}}, {"stops", Whole{3, 5}}, {"steps", Whole{1, 1}}}));
    all.push_back(noted(plain_case("slice", {tensor({4, 5})}, -2, 2,
                                   {{"starts", Whole{1, 1}}, {"stops", Whole{4, 5}}, {"steps", Whole{1, 2}}}),
                        "steps"));
    all.push_back(
        plain_case("pad", {tensor({2, 3})}, -2, 2, {{"before", Whole{1, 0}}, {"after", Whole{0, 2}}, {"value", 3.0}}));
    all.push_back(plain_case("concat", {tensor({2, 3}), tensor({2, 1})}, -2, 2, at_dimension(1)));
    all.push_back(
        plain_case("split", {tensor({2, 4})}, -2, 2, {{"dimension", std::int64_t{1}}, {"sizes", Whole{1, 3}}}));
    const Value three = ids({2, 0, 2}, {3}), four = ids({1, 0, 2, 1}, {2, 2});
    all.push_back(with_literal("gather", {tensor({3, 2})}, 1, three, at_dimension(0)));
    all.push_back(noted(with_literal("gather", {tensor({2, 3, 2})}, 1, four, at_dimension(1)), "in the middle"));
    for (const char* const scatter : {"scatter", "scatter_add"}) {
        all.push_back(with_literal(scatter, {tensor({3, 2}), tensor({3, 2})}, 1, three, at_dimension(0)));
        all.push_back(noted(with_literal(scatter, {tensor({2, 3, 2}), tensor({2, 2, 2, 2})}, 1, four, at_dimension(1)),
                            "in the middle"));
    }
    all.push_back(with_literal("embedding", {tensor({3, 2})}, 1, three));
    all.push_back(plain_case("to_number", {tensor({1, 1})}));
}

void add_matrix_cases(std::vector<DerivativeCase>& all) {
    all.push_back(plain_case("matmul", {tensor({2, 3}), tensor({3, 4})}));
    all.push_back(noted(plain_case("matmul", {tensor({2, 2, 3}), tensor({3, 2})}), "a shared second"));
    all.push_back(noted(plain_case("matmul", {tensor({3, 1, 2, 2}), tensor({2, 2, 3})}), "repeated both ways"));
    for (const char* operation : {"linear", "linear_transposed"}) {
        const std::uint64_t width = std::string(operation) == "linear" ? 2 : 3;
        all.push_back(plain_case(operation, {tensor({3, 2}), tensor({4, width})}));
        all.push_back(noted(plain_case(operation, {tensor({3, 2}), tensor({width})}), "a row"));
        all.push_back(noted(plain_case(operation, {tensor({3, 2}), tensor({2, 2, width})}), "three dimensions"));
    }
    DerivativeCase stopped = still_case("stop_gradient", {tensor({2})});
    stopped.note = "not held against differences";
    all.push_back(stopped);
    all.push_back(
        plain_case("checkpoint", {tensor({2})}, -2, 2, {{"key", std::string("k")}, {"collection", std::string()}}));
    all.push_back(plain_case("factor", {scalar()}, .5, 2.0));
    all.push_back(plain_case("depends", {tensor({2}), tensor({3})}));
}

/// A function over traced values in place of one operation.
DerivativeCase traced_case(std::string operation, std::vector<ValueType> inputs,
                           std::function<TracedValues(std::span<const Traced>)> function, double low = -2.0,
                           double high = 2.0) {
    DerivativeCase of{
        .operation = std::move(operation), .inputs = std::move(inputs), .build = {}, .low = low, .high = high};
    of.build = [inputs = of.inputs, function = std::move(function)](
                   GraphBuilder& builder, const std::vector<Atom>& x) -> Result<std::vector<Atom>> {
        std::vector<std::pair<std::string, ValueType>> named;
        for (const ValueType& type : inputs) named.emplace_back("x" + std::to_string(named.size()), type);
        YOLK_TRY(const Graph graph, trace("inner", named, function));
        return splice(graph, x, builder);
    };
    return of;
}

/// The function's graph as the body of one equation.
DerivativeCase body_case(std::string operation, std::vector<ValueType> inputs,
                         const std::function<TracedValues(std::span<const Traced>)>& function) {
    DerivativeCase of{.operation = operation, .inputs = std::move(inputs), .build = {}};
    of.build = [=, inputs = of.inputs](GraphBuilder& builder, const std::vector<Atom>& x) -> Result<std::vector<Atom>> {
        std::vector<std::pair<std::string, ValueType>> named;
        for (const ValueType& type : inputs) named.emplace_back("x" + std::to_string(named.size()), type);
        YOLK_TRY(Graph graph, trace("inner", named, function));
        return builder.add({.operation = find_operation(operation),
                            .operands = x,
                            .bodies = {std::make_shared<const Graph>(std::move(graph))}});
    };
    return of;
}

DerivativeCase refused_case(DerivativeCase of, std::string message) {
    of.refused = std::move(message);
    return of;
}

using In = std::span<const Traced>;

/// Each by the name of the operation that decides how near a batch comes.
void add_window_cases(std::vector<DerivativeCase>& all) {
    const auto add = [&](const char* name, std::vector<ValueType> inputs, std::function<Traced(In)> function) {
        all.push_back(traced_case(name, std::move(inputs), [=](In in) { return TracedValues{function(in)}; }));
        all.back().note = "under a window";
    };
    const Window uneven{.size = {2, 2}, .stride = {2, 1}, .padding = {1, 0}}, apart{.size = {2}, .dilation = {2}};
    const Window wide{.size = {3, 2}, .stride = {1, 1}, .padding = {2, 1}};
    add("linear", {tensor({2, 8}), tensor({4, 3, 2})}, [=](In in) { return convolution(in[0], in[1], uneven); });
    add("linear", {tensor({1, 2}), tensor({2, 5, 1})}, [=](In in) { return convolution(in[0], in[1], apart); });
    add("max", {tensor({3, 2, 2})}, [=](In in) { return max_pool(in[0], wide); });
    add("mean", {tensor({3, 2, 2})}, [=](In in) { return mean_pool(in[0], wide); });
    add("max", {tensor({4, 5, 1})}, [](In in) { return max_pool(in[0], {.size = {4, 5}}); });
}

TracedValues cubed(In in) {
    return while_loop(
        TracedValues{Traced(0.0), Traced(1.0), in[0]}, [](In carry) { return less(carry[0], 3.0); },
        [](In carry) {
            return TracedValues{carry[0] + 1.0, carry[1] * carry[2], carry[2]};
        },
        5);
}

void add_choice_cases(std::vector<DerivativeCase>& all) {
    const std::vector<ValueType> two{scalar(), scalar()};
    const auto chosen = [&](std::string operation, std::function<Traced(In)> condition) {
        all.push_back(traced_case(std::move(operation), two, [condition = std::move(condition)](In in) {
            return TracedValues{select(condition(in), in[0] * in[1], in[1] * in[1])};
        }));
    };
    chosen("less", [](In in) { return less(in[0], in[1]); });
    chosen("equal", [](In in) { return equal(in[0], in[1]); });
    chosen("and", [](In in) { return logical_and(less(in[0], in[1]), less(in[1], 10.0)); });
    chosen("or", [](In in) { return logical_or(less(in[0], in[1]), less(10.0, in[1])); });
    chosen("not", [](In in) { return logical_not(less(in[0], in[1])); });
    chosen("match", [](In in) { return match(format("{}", {floor(in[0])}), "-", Match::Starts); });
    all.push_back(traced_case("pack", two, [](In in) {
        const Traced a = pack({{"a", in[0]}, {"b", in[1] * 2.0}}), b = pack({{"a", in[1]}, {"b", in[0]}});
        return TracedValues{field(select(less(in[0], in[1]), a, b), "b")};
    }));
    all.back().note = "and a field";
    all.push_back(all.back());
    all.back().operation = "field";
}

/// Lists and integers do not move; what is read from those of still values goes on as a factor.
void add_list_cases(std::vector<DerivativeCase>& all) {
    const std::vector<ValueType> two{scalar(), scalar()};
    const auto still_list = [](In in) { return make_list({floor(in[0]), floor(in[1])}); };
    const auto factor_of = [&](std::string operation, std::function<Traced(In)> factor) {
        const auto product = [factor = std::move(factor)](In in) { return TracedValues{factor(in) * in[0] * in[1]}; };
        all.push_back(traced_case(std::move(operation), two, product, .5, 3.0));  // factors that are not 0
    };
    factor_of("list", [=](In in) { return item(still_list(in), 0, Value(0.0)); });
    factor_of("item", [=](In in) { return item(still_list(in), -1, Value(0.0)); });
    factor_of("length", [=](In in) { return to_number(length(still_list(in))); });
    factor_of("to_tensor", [=](In in) { return sum(to_tensor(still_list(in), Shape{2})); });
    factor_of("to_integer", [](In in) { return to_number(to_integer(floor(in[0]))); });
    factor_of("join", [=](In in) {
        return select(match(join(still_list(in), " "), "-", Match::Starts), Traced(2.0), Traced(3.0));
    });
    all.push_back(refused_case(traced_case("list", two,
                                           [](In in) {
                                               return TracedValues{item(make_list({in[0], in[1]}), 1, Value(0.0))};
                                           }),
                               "lists do not move"));
}

void add_body_cases(std::vector<DerivativeCase>& all) {
    const std::vector<ValueType> one{scalar()}, row{tensor({3})};
    all.push_back(traced_case("switch", one, [](In in) {
        return TracedValues{switch_on(less(0.0, in[0]), {[&] { return in[0]; }, [&] { return in[0] * in[0]; }})};
    }));
    all.push_back(traced_case("while_loop", one, [](In in) { return TracedValues{cubed(in)[1]}; }));
    all.push_back(traced_case("scan", {scalar(), tensor({3})}, [](In in) {
        const auto [last, stack] = scan(in[0], in[1], [](const Traced& carry, const Traced& element) {
            const Traced next = carry * to_number(element);
            return std::pair(next, next * 2.0);
        });
        return TracedValues{last, stack};
    }));
    for (const char* operation : {"call", "parallel"})
        all.push_back(body_case(operation, row, [](In in) { return TracedValues{in[0] * in[0], sum(in[0])}; }));
    all.push_back(refused_case(body_case("weighted", one, [](In in) { return TracedValues{in[0] * in[0]}; }),
                               "operation weighted"));
    const HostFunctionPtr twice = hyperfunction("twice", NoParameters{}, [](double x) { return 2.0 * x; }).parts().host;
    const auto call_of = [twice](GraphBuilder& builder, Atom x) {
        const ValueType number = scalar();
        return builder.add(
            {.operation = find_operation("host_call"), .operands = {Value(Tensor()), std::move(x)}, .host = twice},
            std::span(&number, 1));
    };
    DerivativeCase call = plain_case("host_call", one);
    call.build = [call_of](GraphBuilder& builder, const std::vector<Atom>& x) { return call_of(builder, x[0]); };
    all.push_back(refused_case(call, "operation host_call"));
    // Behind what nothing comes back through it needs no rule; nor does it where it reads constants.
    for (const char* before : {"stop_gradient", "floor"}) {
        call.build = [=](GraphBuilder& builder, const std::vector<Atom>& x) -> Result<std::vector<Atom>> {
            YOLK_TRY(const Atom still, builder.apply(before, {x[0]}));
            YOLK_TRY(const std::vector<Atom> called, call_of(builder, still));
            YOLK_TRY(const std::vector<Atom> constant, call_of(builder, Value(3.0)));
            YOLK_TRY(const Atom squared, builder.apply("multiply", {x[0], x[0]}));
            YOLK_TRY(const Atom sum, builder.apply("add", {squared, called[0]}));
            YOLK_TRY(const Atom all_of_it, builder.apply("add", {sum, constant[0]}));
            return std::vector<Atom>{all_of_it};
        };
        all.push_back(noted(call, std::string("not held against differences, behind ") + before));
    }
    DerivativeCase back = traced_case("while_loop_pullback", one, cubed);
    back.build = [forward = back.build](GraphBuilder& builder,
                                        const std::vector<Atom>& x) -> Result<std::vector<Atom>> {
        GraphBuilder inner("loop");
        const Atom input = inner.input("x0", scalar());
        YOLK_TRY(std::vector<Atom> outputs, forward(inner, {input}));
        YOLK_TRY(const Graph pulled, pullback(std::move(inner).finish({outputs[1]})));
        return splice(pulled, std::vector<Atom>{x[0], Value(1.0)}, builder);
    };
    all.push_back(refused_case(back, "while_loop_pullback"));
}

TEST(derivative_cases, leave_no_operation_out) {
    std::set<std::string> covered;
    for (const DerivativeCase& of : derivative_cases()) covered.insert(of.operation);
    for (const TextDerivativeCase& of : text_derivative_cases()) covered.insert(of.operation);
    for (const Operation* operation : operations())
        EXPECT_TRUE(covered.contains(std::string(operation->name))) << operation->name << " has no case";
}

TEST(derivative_cases, cover_what_has_a_rule_for_batches) {
    // Repeated for each element: texts, records, lists, integers, host functions; and bodies, which are batched in
    // themselves.
    const std::set<std::string> without{
        "equal",     "format",     "format_edits", "match", "word_index", "pack",     "field",
        "host_call", "switch",     "while_loop",   "list",  "length",     "item",     "join",
        "to_tensor", "to_integer", "scan",         "call",  "parallel",   "weighted", "while_loop_pullback"};
    for (const Operation* operation : operations())
        EXPECT_NE(batch_rules().contains(operation), without.contains(std::string(operation->name))) << operation->name;
}

}  // namespace

std::vector<DerivativeCase> derivative_cases() {
    std::vector<DerivativeCase> all;
    add_elementwise_cases(all);
    add_reduction_cases(all);
    add_rearranging_cases(all);
    add_matrix_cases(all);
    add_window_cases(all);
    add_choice_cases(all);
    add_list_cases(all);
    add_body_cases(all);
    return all;
}

namespace {

void add_texts_that_choose(std::vector<TextDerivativeCase>& all) {
    all.push_back({"word_index",
                   [](In in) {
                       return TracedValues{word_index(in[0], {"bug", "question"}) * in[1]};
                   },
                   {"question", 2.0},
                   {"bug", 5.0},
                   {5.0},
                   {3.0},
                   {"", 3.0}});
    all.push_back({"switch",
                   [](In in) {
                       return TracedValues{switch_on(
                           in[0], NamedBranches{{"a", [&] { return in[1]; }}, {"b", [&] { return in[1] * in[1]; }}})};
                   },
                   {"b", 3.0},
                   {"a", 1.0},
                   {6.0},
                   {1.0},
                   {"", 6.0}});
    all.push_back({"match",
                   [](In in) { return TracedValues{select(match(in[0], "b", Match::Contains), in[1] * 2.0, in[1])}; },
                   {"abc", 3.0},
                   {"x", 1.0},
                   {2.0},
                   {1.0},
                   {"", 2.0}});
    all.push_back({"equal",
                   [](In in) { return TracedValues{select(equal(in[0], "abc"), in[0], in[1])}; },
                   {"abc", "no"},
                   {"longer", "never"},
                   {"longer"},
                   {"shorter"},
                   {"shorter", ""}});
}

void add_texts_that_are_put_together(std::vector<TextDerivativeCase>& all) {
    all.push_back({"format",
                   [](In in) {
                       return TracedValues{format("{} and {}", {in[0], in[1]})};
                   },
                   {"this", 1.0},
                   {"that", 2.0},
                   {"that and "},
                   {"shorter"},
                   {"shorter", 0.0}});
    all.push_back({"format_edits",
                   [](In in) {
                       return TracedValues{apply("format_edits", {in[0], in[1]}, {{"pattern", std::string("{}+{}")}})};
                   },
                   {"a", "b"},
                   {"c", ""},
                   {"c+"},
                   {"more"},
                   {"more", "more"}});
    all.push_back({"concat",
                   [](In in) {
                       return TracedValues{concat({in[0], in[1]}, 0)};
                   },
                   {"a", "b"},
                   {"c", "d"},
                   {"cd"},
                   {"more"},
                   {"more", "more"}});
}

}  // namespace

std::vector<TextDerivativeCase> text_derivative_cases() {
    std::vector<TextDerivativeCase> all;
    add_texts_that_choose(all);
    add_texts_that_are_put_together(all);
    return all;
}

}  // namespace yolk::hyper
