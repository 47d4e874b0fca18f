// SPDX-License-Identifier: Apache-2.0
#include "yolk/internal/hyper/executor.hpp"

#include <gtest/gtest.h>

#include <barrier>
#include <latch>
#include <stdexcept>
#include <thread>

#include "yolk/internal/testing/device_test.hpp"

namespace yolk::hyper {
namespace {

using HostBody = std::function<Result<Value>(const HostCall&)>;

/// A graph by hand. Everything is a number unless a type says otherwise.
class Builder {
   public:
    Builder() { graph_.name = "by hand"; }

    VariableId variable(const std::string& name, ValueType type = {}) {
        graph_.variables.push_back({std::move(type), name});
        return VariableId(static_cast<std::uint32_t>(graph_.variables.size() - 1));
    }
    VariableId input(const std::string& key) {
        const VariableId id = variable(key);
        graph_.inputs.emplace_back(key, id);
        return id;
    }
    VariableId parameter(const std::string& group, Shape shape) {
        const VariableId id = variable(group, {ValueKind::Tensor, std::move(shape)});
        graph_.parameters.push_back({id, group});
        return id;
    }
    VariableId equation(const char* operation, std::vector<Atom> operands, ValueType type = {}) {
        const VariableId result = variable(operation, std::move(type));
        graph_.equations.push_back(
            {.operation = find_operation(operation), .operands = std::move(operands), .results = {result}});
        return result;
    }
    VariableId host(const std::string& name, HostBody body, const Atom& parameters, std::vector<Atom> operands,
                    ValueType type = {}, HostOptions options = {}) {
        operands.insert(operands.begin(), parameters);
        const VariableId result = equation("host_call", std::move(operands), std::move(type));
        graph_.equations.back().host = std::make_shared<const HostFunction>(
            HostFunction{.name = name, .run = std::move(body), .options = options});
        graph_.equations.back().hyperfunction = name;
        return result;
    }
    Graph outputs(std::vector<Atom> outputs) {
        graph_.outputs = std::move(outputs);
        return graph_;
    }

   private:
    Graph graph_;
};

const Atom kNone = Value(Tensor::vector({}));

double number(const HostCall& call, std::size_t operand = 0) { return *call.operands[operand].number(); }

/// (x + 1) times a hyperfunction's only knob, and that plus x.
Graph scaled() {
    Builder b;
    const VariableId x = b.input("x");
    const VariableId knob = b.parameter("scale", Shape{1});
    const VariableId more = b.equation("add", {x, Value(1.0)});
    const VariableId product = b.host(
        "scale", [](const HostCall& call) -> Result<Value> { return Value(number(call) * double{call.parameters[0]}); },
        knob, {more});
    const VariableId sum = b.equation("add", {product, x});
    return b.outputs({product, sum, Value("a literal")});
}

GraphArguments arguments_of_scaled(double x) { return {.inputs = {Value(x)}, .parameters = {Tensor::vector({3.0F})}}; }

TEST(executor, call_runs_equations_in_order) {
    const Graph graph = scaled();
    ASSERT_OK(validate(graph));
    ASSERT_OK_AND_ASSIGN(const std::vector<Value> outputs, call(graph, arguments_of_scaled(4.0)));
    EXPECT_EQ(outputs, (std::vector<Value>{Value(15), Value(19), Value("a literal")}));
}

TEST(executor, call_async_gives_what_call_gives) {
    const Graph graph = scaled();
    ASSERT_OK_AND_ASSIGN(HostPool pool, HostPool::create());
    for (const double x : {-2.0, 0.0, 1e9}) {
        ASSERT_OK_AND_ASSIGN(const std::vector<Value> expected, call(graph, arguments_of_scaled(x)));
        ASSERT_OK_AND_ASSIGN(const std::vector<Value> outputs, call_async(graph, arguments_of_scaled(x), pool));
        EXPECT_EQ(outputs, expected);
    }
    EXPECT_EQ(pool.statistics()[0].calls, 3U);
}

TEST(threads, host_equations_overlap_and_wait_for_their_operands) {
    std::barrier both(2);  // passes only where two calls are inside at the same time
    const HostBody meets = [&both](const HostCall& call) -> Result<Value> {
        both.arrive_and_wait();
        return Value(number(call) * 10);
    };
    Builder b;
    const VariableId x = b.input("x");
    const VariableId first = b.host("first", meets, kNone, {x});
    const VariableId second = b.host("second", meets, kNone, {b.equation("add", {x, Value(1.0)})});
    const VariableId third =
        b.host("third", [](const HostCall& call) -> Result<Value> { return Value(number(call, 0) + number(call, 1)); },
               kNone, {first, second});
    const Graph graph = b.outputs({third});
    ASSERT_OK_AND_ASSIGN(HostPool pool, HostPool::create({.threads = 2}));
    ASSERT_OK_AND_ASSIGN(const std::vector<Value> outputs, call_async(graph, {.inputs = {Value(1)}}, pool));
    EXPECT_EQ(outputs, std::vector<Value>{Value(30)});
}

TEST(threads, tensor_equations_run_while_host_functions_do) {
    std::latch added(1);
    Builder b;
    const VariableId x = b.input("x");
    const VariableId slow = b.host("slow",
                                   [&added](const HostCall& call) -> Result<Value> {
                                       added.wait();
                                       return Value(number(call));
                                   },
                                   kNone, {x});
    const VariableId sum = b.equation("add", {x, Value(1.0)});
    const VariableId opens = b.host("opens",
                                    [&added](const HostCall& call) -> Result<Value> {
                                        added.count_down();
                                        return Value(number(call));
                                    },
                                    kNone, {sum});
    const Graph graph = b.outputs({slow, opens});
    ASSERT_OK_AND_ASSIGN(HostPool pool, HostPool::create({.threads = 2}));
    ASSERT_OK_AND_ASSIGN(const std::vector<Value> outputs, call_async(graph, {.inputs = {Value(1)}}, pool));
    EXPECT_EQ(outputs, (std::vector<Value>{Value(1), Value(2)}));
}

TEST(threads, the_first_error_in_the_order_of_the_equations_is_told) {
    std::latch later_failed(1);
    std::atomic<bool> ran = false;
    Builder b;
    const VariableId x = b.input("x");
    const VariableId first = b.host("first",
                                    [&](const HostCall&) -> Result<Value> {
                                        later_failed.wait();
                                        throw std::runtime_error("the first");
                                    },
                                    kNone, {x});
    const VariableId second = b.host("second",
                                     [&](const HostCall&) -> Result<Value> {
                                         later_failed.count_down();
                                         return bad_input("the second");
                                     },
                                     kNone, {x});
    const VariableId third = b.host("third",
                                    [&](const HostCall&) -> Result<Value> {
                                        ran = true;
                                        return Value(1);
                                    },
                                    kNone, {first, second});
    const Graph graph = b.outputs({third});
    ASSERT_OK_AND_ASSIGN(HostPool pool, HostPool::create({.threads = 2}));
    const auto outputs = call_async(graph, {.inputs = {Value(1)}}, pool);
    EXPECT_TRUE(testing::expect_error(outputs, ErrorKind::BadInput, "the first"));
    EXPECT_TRUE(
        testing::expect_error(outputs, ErrorKind::BadInput, "equation 0, host_call of hyperfunction 'first' (call 0)"));
    EXPECT_FALSE(ran);
}

TEST(executor, results_of_another_type_are_refused) {
    Builder b;
    const VariableId x = b.input("x");
    const VariableId y =
        b.host("changeable", [](const HostCall&) -> Result<Value> { return Value("text"); }, kNone, {x});
    const Graph graph = b.outputs({y});
    ASSERT_OK_AND_ASSIGN(HostPool pool, HostPool::create());
    const GraphArguments arguments{.inputs = {Value(1)}};
    for (const auto& outputs : {call(graph, arguments), call_async(graph, arguments, pool)}) {
        EXPECT_TRUE(testing::expect_error(outputs, ErrorKind::BadInput, "'changeable'"));
        EXPECT_TRUE(testing::expect_error(outputs, ErrorKind::BadInput, "a text came back where a number was traced"));
    }
}

TEST(executor, exceptions_of_host_functions_are_errors) {
    Builder b;
    const VariableId x = b.input("x");
    const VariableId y =
        b.host("throws", [](const HostCall&) -> Result<Value> { throw std::runtime_error("boom"); }, kNone, {x});
    const Graph graph = b.outputs({y});
    ASSERT_OK_AND_ASSIGN(HostPool pool, HostPool::create());
    const GraphArguments arguments{.inputs = {Value(1)}};
    for (const auto& outputs : {call(graph, arguments), call_async(graph, arguments, pool)}) {
        EXPECT_TRUE(testing::expect_error(outputs, ErrorKind::BadInput, "'throws'"));
        EXPECT_TRUE(testing::expect_error(outputs, ErrorKind::BadInput, "boom"));
    }
}

TEST(executor, arguments_that_do_not_fit_are_refused) {
    const Graph graph = scaled();
    ASSERT_OK_AND_ASSIGN(HostPool pool, HostPool::create());
    const auto refused = [&](const GraphArguments& arguments, std::string_view part) {
        EXPECT_TRUE(testing::expect_error(call(graph, arguments), ErrorKind::BadInput, part));
        EXPECT_TRUE(testing::expect_error(call_async(graph, arguments, pool), ErrorKind::BadInput, part));
        EXPECT_TRUE(testing::expect_error(Walk::create(graph, arguments), ErrorKind::BadInput, part));
    };
    const Tensor knob = Tensor::vector({3.0F});
    refused({.parameters = {knob}}, "has 1 inputs, but 0 were given");
    refused({.inputs = {Value(1)}}, "has 1 parameters, but 0 were given");
    refused({.inputs = {Value("x")}, .parameters = {knob}}, "input 'x' is a text, but a number was traced");
    refused({.inputs = {Value(1)}, .parameters = {Tensor::vector({1.0F, 2.0F})}}, "parameter 'scale' is a tensor [2]");
}

TEST(executor, graphs_that_do_not_hold_are_refused) {
    ASSERT_OK_AND_ASSIGN(HostPool pool, HostPool::create());
    const GraphArguments arguments{.inputs = {Value(1)}};
    const auto refused = [&](const Graph& graph, std::string_view part) {
        EXPECT_TRUE(testing::expect_error(call(graph, arguments), ErrorKind::BadInput, part));
        EXPECT_TRUE(testing::expect_error(call_async(graph, arguments, pool), ErrorKind::BadInput, part));
    };
    Builder undefined;
    const VariableId x = undefined.input("x");
    const VariableId never = undefined.variable("never");
    refused(undefined.outputs({undefined.equation("add", {x, never})}),
            "reads variable 1, which nothing before it defines");
    Builder out_of_range;
    const VariableId y = out_of_range.input("x");
    refused(out_of_range.outputs({out_of_range.equation("add", {y, VariableId(99)})}),
            "names variable 99; there are 2");
    Builder output;
    output.input("x");
    refused(output.outputs({VariableId(7)}), "output 0 names variable 7; there are 1");
}

TEST(executor, a_walk_shows_and_replaces_what_runs) {
    const Graph graph = scaled();
    ASSERT_OK_AND_ASSIGN(Walk walk, Walk::create(graph, arguments_of_scaled(4.0)));
    EXPECT_TRUE(testing::expect_error(walk.outputs(), ErrorKind::BadInput, "not at its end"));
    ASSERT_NE(walk.next(), nullptr);
    EXPECT_EQ(walk.next()->operation, find_operation("add"));
    ASSERT_OK_AND_ASSIGN(const std::vector<Value> operands, walk.operands());
    EXPECT_EQ(operands, (std::vector<Value>{Value(4), Value(1)}));
    ASSERT_OK_AND_ASSIGN(const std::vector<Value> results, walk.step());
    EXPECT_EQ(results, std::vector<Value>{Value(5)});

    // The host function is not run; a result that does not fit leaves the walk where it is.
    EXPECT_TRUE(testing::expect_error(walk.skip({Value("text")}), ErrorKind::BadInput, "a text came back"));
    EXPECT_TRUE(testing::expect_error(walk.skip({}), ErrorKind::BadInput, "0 results came back"));
    ASSERT_OK(walk.skip({Value(100)}));
    ASSERT_OK(walk.step());
    EXPECT_EQ(walk.next(), nullptr);
    ASSERT_OK_AND_ASSIGN(const std::vector<Value> outputs, walk.outputs());
    EXPECT_EQ(outputs, (std::vector<Value>{Value(100), Value(104), Value("a literal")}));
    EXPECT_TRUE(testing::expect_error(walk.step(), ErrorKind::BadInput, "at its end"));
    EXPECT_TRUE(testing::expect_error(walk.skip({}), ErrorKind::BadInput, "at its end"));
    EXPECT_TRUE(testing::expect_error(walk.operands(), ErrorKind::BadInput, "at its end"));
}

}  // namespace
}  // namespace yolk::hyper
