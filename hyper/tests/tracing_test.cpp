// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <stdexcept>

#include "fixtures.hpp"
#include "yolk/internal/hyper/operations.hpp"
#include "yolk/internal/testing/device_test.hpp"
#include "yolk/system.hpp"

namespace yolk::hyper {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::UnorderedElementsAre;

struct Gain {
    double gain = 0.5;
    static FieldsOf<Gain> fields() { return {field_of("gain", &Gain::gain).between(-10.0, 10.0)}; }
};

/// gain * x, over traced values: the parameters are a tensor [1], as is x.
Hyperfunction<Gain> traced_gain(const std::string& name = "gain") {
    return hyperfunction(name, Gain{}, [](const Traced& gain, const Traced& x) { return x * gain; });
}
Hyperfunction<Gain> host_gain(const std::string& name = "gain") {
    return hyperfunction(name, Gain{}, [](const Gain& p, double x) { return x * p.gain; });
}

TracedExample traced(System& system, std::map<std::string, Value> inputs) {
    auto trace = system.trace({std::move(inputs), {}});
    EXPECT_OK(trace);
    if (!trace) return {};
    EXPECT_OK(validate(trace->graph));
    return *std::move(trace);
}

std::string trace_refusal(System& system, std::map<std::string, Value> inputs, std::optional<std::size_t> index = {}) {
    const auto trace = system.trace({std::move(inputs), {}}, index);
    return trace ? "it was traced" : trace.error().message;
}

TEST(tracing, independent_calls_share_a_stage) {
    const auto a = host_gain("a"), b = host_gain("b");
    const auto join = hyperfunction("join", NoParameters{}, [](double x, double y) { return x + y; });
    System system("fork", [=](const Inputs& in) {
        const Traced first = a(in["x"]);
        return join(first, b(in["x"]));
    });
    const TracedExample trace = traced(system, {{"x", 3.0}});
    EXPECT_THAT(stages(trace.graph).value(), ElementsAre(0U, 0U, 1U));
    ASSERT_EQ(trace.graph.equations.size(), 3U);
    EXPECT_EQ(trace.graph.equations[0].hyperfunction, "a") << "in the order of the calls";
    EXPECT_EQ(trace.graph.equations[1].hyperfunction, "b");
    const Equation& last = trace.graph.equations[2];
    EXPECT_EQ(std::get<VariableId>(last.operands[1]), trace.graph.equations[0].results[0]);
    EXPECT_EQ(std::get<VariableId>(last.operands[2]), trace.graph.equations[1].results[0]);
    EXPECT_EQ(std::get<VariableId>(trace.graph.outputs[0]), last.results[0]);
}

TEST(tracing, knows_what_depends_on_what) {
    const auto a = host_gain("a"), b = host_gain("b");
    const auto plain = hyperfunction("plain", NoParameters{}, [](double x) { return x; });
    System system("dependence", [=](const Inputs& in) { return b(a(plain(in["x"]))); });
    const TracedExample trace = traced(system, {{"x", 3.0}});
    const auto depends = [&](std::optional<std::vector<std::string>> groups) {
        const std::vector<bool> of = groups ? depends_on(trace.graph, std::span<const std::string>(*groups)).value()
                                            : depends_on(trace.graph).value();
        std::vector<bool> equations;
        for (const Equation& equation : trace.graph.equations) equations.push_back(of[equation.results[0].value]);
        return equations;
    };
    EXPECT_THAT(depends({}), ElementsAre(false, true, true)) << "no parameter is none";
    EXPECT_THAT(depends({{"b"}}), ElementsAre(false, false, true));
    EXPECT_THAT(depends(std::vector<std::string>{}), ElementsAre(false, false, false));
}

TEST(tracing, numbers_each_call) {
    const auto gain = traced_gain();
    System system("twice", [=](const Inputs& in) { return gain(gain(in["x"]) + 1.0); });
    const TracedExample trace = traced(system, {{"x", Tensor::vector({2.0F})}});
    EXPECT_THAT(operations_of(trace.graph), ElementsAre("multiply", "add", "multiply"));
    EXPECT_EQ(trace.graph.equations[0].call, 0U);
    EXPECT_EQ(trace.graph.equations[1].hyperfunction, "") << "the system's own";
    EXPECT_EQ(trace.graph.equations[2].call, 1U);
    EXPECT_EQ(trace.graph.parameters.size(), 1U) << "one variable for both calls";
    EXPECT_EQ(trace.values[std::get<VariableId>(trace.graph.outputs[0]).value], Value(Tensor::vector({1.0F})));
}

TEST(tracing, knows_hyperfuncs_words) {
    const auto pair = hyperfunction("pair", LoraWeight{.out = 2, .in = 1, .values = *Tensor::create({2, 1}, {3, 4})},
                                    [](const Traced& weight, const Traced& x) { return linear(weight, x); });
    System system("words", [=](const Inputs& in) { return combine({in["x"], pair(in["x"])}); });
    const TracedExample trace = traced(system, {{"x", Tensor::vector({2.0F})}});
    EXPECT_THAT(operations_of(trace.graph), ElementsAre("linear", "concat"));
    EXPECT_EQ(trace.values.back(), Value(Tensor::vector({2.0F, 6.0F, 8.0F})));
}

TEST(tracing, records_concat_and_split) {
    System system("shapes", [](const Inputs& in) {
        const std::vector<Traced> parts = split(in["x"], {1, 3}, -1);
        return concat({parts[1], parts[0]}, -1);
    });
    const Tensor x = Tensor::create({2, 4}, {0, 1, 2, 3, 4, 5, 6, 7}).value();
    const TracedExample trace = traced(system, {{"x", x}});
    EXPECT_THAT(operations_of(trace.graph), ElementsAre("split", "concat"));
    EXPECT_EQ(std::get<std::int64_t>(*find_attribute(trace.graph.equations[0], "dimension")), 1) << "from the front";
    EXPECT_THAT(trace.notes, IsEmpty()) << "nothing went past the tracer";
    EXPECT_EQ(trace.values.back(), Value(Tensor::create({2, 4}, {1, 2, 3, 0, 5, 6, 7, 4}).value()));
}

TEST(tracing, reading_past_the_tracer_is_noted) {
    const auto gain = traced_gain();
    System system("peek", [=](const Inputs& in) {
        const Traced y = gain(in["x"]);
        return Traced(static_cast<double>(y.read().tensor()->values()[0]) + in["x"].number());
    });
    const TracedExample trace = traced(system, {{"x", Tensor::vector({2.0F})}});
    ASSERT_EQ(trace.notes.size(), 2U);
    std::vector<std::string> notes = trace.notes;
    std::ranges::sort(notes, {}, &std::string::size);
    EXPECT_THAT(notes[0], AllOf(HasSubstr("read as a number"), ::testing::Not(HasSubstr("parameter"))));
    EXPECT_THAT(notes[1], AllOf(HasSubstr("past the tracer"), HasSubstr("depends on a parameter")));
    EXPECT_THAT(trace.graph.outputs, ElementsAre(Atom(Value(3.0)))) << "a literal: this trace's data";
}

TEST(tracing, data_may_steer) {
    const auto gain = host_gain();
    const auto other = host_gain("other");
    System system("branches", [=](const Inputs& in) {
        Traced x = in["x"];
        for (int i = 0; i < in["times"].number(); ++i) x = gain(x);
        return x.type().kind == ValueKind::Number && in["x"].number() > 2.0 ? other(x) : x;
    });
    EXPECT_EQ(traced(system, {{"x", 1.0}, {"times", 3}}).graph.equations.size(), 3U);
    EXPECT_EQ(traced(system, {{"x", 3.0}, {"times", 1}}).graph.equations.size(), 2U);
    const std::vector<Example> examples{{{{"x", 1.0}, {"times", 1}}, 0}, {{{"x", 1.0}, {"times", 2}}, 0}};
    ASSERT_OK_AND_ASSIGN(const auto traces, system.trace_all(examples));
    EXPECT_NE(signature(traces[0].graph).value(), signature(traces[1].graph).value()) << "different graphs per example";
}

TEST(tracing, signatures_are_of_the_structure) {
    const auto gain = traced_gain();
    System system("structure", [=](const Inputs& in) { return gain(in["x"]) * double{in["x"].number()}; });
    const auto sign = [&](std::vector<float> x) {
        return signature(traced(system, {{"x", Tensor::vector(std::move(x))}}).graph).value();
    };
    EXPECT_EQ(sign({1.0F}), sign({7.0F})) << "not the values, literals' neither";
    System wider("structure", [=](const Inputs& in) { return gain(in["x"]) * 2.0; });
    const auto pair = traced(wider, {{"x", Tensor::filled({2, 1}, 1.0F)}});
    EXPECT_NE(signature(pair.graph).value(), sign({1.0F})) << "types";
    System operation("structure", [=](const Inputs& in) { return gain(in["x"]) + double{in["x"].number()}; });
    EXPECT_NE(signature(traced(operation, {{"x", Tensor::vector({1.0F})}}).graph).value(), sign({1.0F}));
}

TEST(tracing, parameters_must_not_steer) {
    const auto gain = host_gain();
    const auto check = [&](const System::Function& function) {
        System system("steered", function);
        return trace_refusal(system, {{"x", 3.0}});
    };
    const auto told = AllOf(HasSubstr("Control flow depends on a parameter"), HasSubstr("select"));
    EXPECT_THAT(check([=](const Inputs& in) { return gain(in["x"]).number() > 1.0 ? in["x"] : gain(in["x"]); }), told);
    EXPECT_THAT(check([=](const Inputs& in) { return 1.0 < gain(in["x"]).number() ? in["x"] : gain(in["x"]); }), told);
    EXPECT_THAT(
        check([=](const Inputs& in) { return in["x"].number() < gain(in["x"]).number() ? in["x"] : gain(in["x"]); }),
        told);
    EXPECT_THAT(check([=](const Inputs& in) { return gain(in["x"]).number() != 1.0 ? in["x"] : gain(in["x"]); }), told);
    EXPECT_THAT(check([=](const Inputs& in) {
                    Traced x = in["x"];
                    while (!(x.number() > 100.0)) x = gain(x);
                    while (x.number() > -100.0) x = gain(x);
                    return x;
                }),
                told)
        << "and both loops end";
    const auto body =
        hyperfunction("inside", Gain{}, [](const Traced& p, const Traced& x) { return p.number() > 0.0 ? x : -x; });
    EXPECT_THAT(check([=](const Inputs& in) { return body(in["x"]); }), HasSubstr("in hyperfunction 'inside'"));
}

TEST(tracing, select_chooses_by_data_flow) {
    const auto gain = host_gain();
    System system("select", [=](const Inputs& in) {
        const Traced y = gain(in["x"]);
        const Traced small = logical_and(less(y, 2.0), logical_not(logical_or(equal(y, in["x"]), less(y, -2.0))));
        return select(small, y, in["x"]);
    });
    EXPECT_EQ(*system.call({{"x", 3.0}}), Value(1.5));
    EXPECT_EQ(*system.call({{"x", 8.0}}), Value(8.0));
    EXPECT_EQ(*system.call({{"x", -8.0}}), Value(-8.0));
    EXPECT_THAT(operations_of(traced(system, {{"x", 3.0}}).graph),
                UnorderedElementsAre("host_call", "less", "equal", "less", "or", "not", "and", "select"));
}

TEST(tracing, formats_text) {
    System system("text", [](const Inputs& in) { return format("{}: {} of {}", {in["who"], in["n"], 3.5}); });
    EXPECT_EQ(*system.call({{"who", "Ann {}"}, {"n", 2}}), Value("Ann {}: 2 of 3.5"));
    System short_one("text", [](const Inputs& in) { return format("{} {}", {in["who"]}); });
    EXPECT_THAT(trace_refusal(short_one, {{"who", "x"}}), HasSubstr("1 values for the pattern"));
}

TEST(tracing, errors_stick_and_name_the_example) {
    const auto linear_one = hyperfunction("layer", MatrixWeight{.out = 3, .in = 2},
                                          [](const Traced& w, const Traced& x) { return linear(w, x); });
    System system("stuck", [=](const Inputs& in) {
        const Traced wrong = linear_one(in["x"]);
        EXPECT_EQ(wrong.read().kind(), ValueKind::Tensor) << "the function may go on";
        const std::vector<Traced> parts = split(wrong, {1, 1}, 0);
        return concat({parts[0], parts[1]}, 5);
    });
    EXPECT_THAT(trace_refusal(system, {{"x", Tensor::vector({1, 2, 3})}}, 4),
                AllOf(HasSubstr("system 'stuck' on example 4"), HasSubstr("'layer'"),
                      HasSubstr("tensor [3, 2], tensor [3]"), HasSubstr("a weight [out, in] and x [..., in]")));
    ASSERT_OK(system.parameters().set("layer", Tensor::filled({3, 2}, 1.0F)));
    EXPECT_THAT(trace_refusal(system, {{"x", Tensor::vector({1, 2})}}), HasSubstr("must sum to 3"));
}

TEST(tracing, refuses_bad_shapes) {
    const auto check = [](const std::function<Traced(const Traced&)>& function) {
        System system("shapes", [&](const Inputs& in) { return function(in["x"]); });
        return trace_refusal(system, {{"x", Tensor::filled({2, 3}, 1.0F)}});
    };
    EXPECT_THAT(check([](const Traced& x) {
                    return split(x, {1, 1}, 0)[1] + split(x, {2, 2}, 1)[1];
                }),
                HasSubstr("must sum to 3"));
    EXPECT_THAT(check([](const Traced& x) {
                    return concat({x, reshape(x, {3, 2})}, 0);
                }),
                HasSubstr("differ along dimension 0 only"));
    EXPECT_THAT(check([](const Traced& x) { return concat({x, x}, 2); }), HasSubstr("dimension 2 of a tensor [2, 3]"));
    EXPECT_THAT(check([](const Traced& x) { return concat({x, x}, -3); }), HasSubstr("from 0 to 1"));
    EXPECT_THAT(check([](const Traced& x) { return concat(std::span<const Traced>(), 0) + x; }), HasSubstr("nothing"));
    EXPECT_THAT(check([](const Traced& x) { return reshape(x, {7}); }), HasSubstr("must be as many (6)"));
    EXPECT_THAT(check([](const Traced& x) { return x + Tensor::vector({1, 2}); }), HasSubstr("equal extents or 1"));
    EXPECT_THAT(check([](const Traced& x) { return Tensor::vector({1, 2}) - x; }), HasSubstr("equal extents or 1"));
    EXPECT_THAT(check([](const Traced& x) { return relu(Traced(Value("text"))) + x; }),
                HasSubstr("tensor or a number"));
    EXPECT_THAT(check([](const Traced& x) { return sum(reshape(x, {6, 1, 0})); }), HasSubstr("as many"));
    EXPECT_THAT(check([](const Traced& x) { return select(x, x, x); }), HasSubstr("a boolean and two values"));
    EXPECT_THAT(check([](const Traced& x) { return embedding(x, Tensor::vector({0.0F, 2.0F})); }), HasSubstr("id 2"));
    EXPECT_THAT(check([](const Traced& x) { return less(x, x); }), HasSubstr("tensors of one element"));
    EXPECT_THAT(check([](const Traced& x) { return x * double{x.number()}; }), HasSubstr("tensor [2, 3] was given"));
}

TEST(tracing, second_operands_may_come_first) {
    System system("broadcast", [](const Inputs& in) {
        const Traced row = Tensor::vector({1, 2, 3});
        return concat({1.0 - in["x"], row - in["x"], row * in["x"], in["x"] - row, maximum(2.5, in["x"])}, 0);
    });
    const Tensor x = Tensor::create({1, 3}, {3, 5, 2}).value();
    EXPECT_EQ(*system.call({{"x", x}}),
              Value(Tensor::create({5, 3}, {-2, -4, -1, -2, -3, 1, 3, 10, 6, 2, 3, -1, 3, 5, 2.5}).value()));
}

TEST(tracing, values_of_another_trace_are_refused) {
    std::optional<Traced> kept;
    System system("leak", [&](const Inputs& in) {
        if (!kept) kept = in["x"];
        return *kept + in["x"];
    });
    ASSERT_OK(system.call({{"x", 1.0}}));
    EXPECT_THAT(trace_refusal(system, {{"x", 1.0}}), HasSubstr("another trace"));
    EXPECT_THAT(trace_refusal(system, {{"x", 1.0}}), HasSubstr("another trace"))
        << "the system is still usable, and says it";
    System output("leak", [&](const Inputs&) { return *kept; });
    EXPECT_THAT(trace_refusal(output, {}), HasSubstr("another trace"));
}

TEST(tracing, operations_outside_a_trace_compute_or_carry_their_error) {
    const Traced three = Traced(1.0) + 2.0;
    EXPECT_EQ(three.read(), Value(3.0));
    const Traced wrong = concat({Traced(1.0)}, 0);
    const Traced lost = host_gain("lost")(1.0);
    System system("late", [&](const Inputs& in) { return in["x"] + wrong; });
    EXPECT_THAT(trace_refusal(system, {{"x", 1.0}}), HasSubstr("concat"));
    System call("late", [&](const Inputs& in) { return in["x"] + lost; });
    EXPECT_THAT(trace_refusal(call, {{"x", 1.0}}), HasSubstr("'lost' was called outside a system"));
}

TEST(tracing, unknown_inputs_are_named) {
    System system("keys", [](const Inputs& in) { return in["y"]; });
    EXPECT_THAT(trace_refusal(system, {{"x", 1.0}, {"z", 1.0}}, 2),
                AllOf(HasSubstr("example 2"), HasSubstr("no input 'y'; the inputs are 'x', 'z'")));
}

}  // namespace
}  // namespace yolk::hyper
