// SPDX-License-Identifier: Apache-2.0
// Every public function that takes a graph, over graphs that are invalid in every way: each gives back what validate()
// says. A function that the headers declare and this table lacks fails.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <regex>
#include <set>
#include <sstream>

#include "fixtures.hpp"
#include "population_fixtures.hpp"
#include "traced_graphs.hpp"
#include "yolk/graph.hpp"
#include "yolk/internal/hyper/rollout_lowering.hpp"
#include "yolk/internal/testing/device_test.hpp"

namespace yolk::hyper::invalid_graphs {
namespace {

using ::testing::HasSubstr;

/// (x, s) -> (sum of 2^n w x, "..."): a parameter, a loop, a branch, a call, a host function, a checkpoint.
Graph sound() {
    const auto w = hyperfunction("w", VectorWeight{.size = 2},
                                 [](const Traced& v, const Traced& x) { return checkpoint(v * x, "k"); });
    const auto length =
        hyperfunction("length", NoParameters{}, [](const std::string& s) { return static_cast<double>(s.size()); });
    return traced("sound", {{"x", tensor_type({2})}, {"s", text_type()}}, [&](std::span<const Traced> in) {
        const Traced grown = while_loop(
            w(in[0]), [](const Traced& h) { return less(max(h), 10.0); }, [](const Traced& h) { return h + h; }, 9);
        const Traced chosen = switch_on(less(length(in[1]), 3.0), {[&] { return grown; }, [&] { return grown + 1.0; }});
        return TracedValues{sum(chosen), in[1]};
    });
}

Equation& of(Graph& graph, std::string_view operation) {
    for (Equation& equation : graph.equations) {
        if (equation.operation != nullptr && equation.operation->name == operation) return equation;
    }
    ADD_FAILURE() << "no " << operation;
    return graph.equations.front();
}
void in_body(Graph& graph, std::string_view operation, const std::function<void(Graph&)>& change) {
    auto& body = of(graph, operation).bodies.back();
    Graph copy = *body;
    change(copy);
    body = std::make_shared<const Graph>(std::move(copy));
}

struct Break {
    std::string name;
    std::function<void(Graph&)> change;
    std::string says;  ///< a part of validate()'s message
};

std::vector<Break> breaks_of_wiring() {
    return {
        {"names its own result", [](Graph& g) { of(g, "multiply").operands[0] = of(g, "multiply").results[0]; },
         "nothing before it defines"},
        {"no operation", [](Graph& g) { g.equations[1].operation = nullptr; }, "operations()"},
        {"reads an unknown variable", [](Graph& g) { of(g, "sum").operands[0] = VariableId(999); }, "variable 999"},
        {"gives an unknown variable", [](Graph& g) { of(g, "sum").results[0] = VariableId(999); }, "variable 999"},
        {"gives another's variable", [](Graph& g) { of(g, "sum").results = of(g, "multiply").results; }, "again"},
        {"gives an input", [](Graph& g) { of(g, "multiply").results[0] = g.inputs[0].second; }, "again"},
        {"too few operands", [](Graph& g) { of(g, "multiply").operands.pop_back(); }, "takes 2"},
        {"too many operands", [](Graph& g) { of(g, "sum").operands.emplace_back(Value(1.0)); }, "takes 1"},
        {"no operands", [](Graph& g) { of(g, "multiply").operands.clear(); }, "takes 2"},
        {"no results", [](Graph& g) { of(g, "sum").results.clear(); }, "0 results"},
        {"a cycle", [](Graph& g) { std::swap(g.equations.front(), g.equations.back()); }, "nothing before it defines"},
        {"another type", [](Graph& g) { g.variables[of(g, "sum").results[0].value].type = text_type(); },
         "declared as text"},
        {"an operand of another kind", [](Graph& g) { of(g, "multiply").operands[0] = Value("word"); }, "multiply"},
        {"a variable too many", [](Graph& g) { g.variables.push_back({}); }, "nothing defines variable"},
        {"no variables", [](Graph& g) { g.variables.clear(); }, "there are 0"},
        {"an attribute too few", [](Graph& g) { of(g, "checkpoint").attributes.clear(); }, "checkpoint"},
        {"a host call without a function", [](Graph& g) { of(g, "host_call").host = nullptr; }, "no host function"},
        {"a host call without operands", [](Graph& g) { of(g, "host_call").operands.clear(); }, "parameters"},
        {"a host call of two results",
         [](Graph& g) {
             g.variables.push_back({});
             of(g, "host_call").results.emplace_back(static_cast<std::uint32_t>(g.variables.size() - 1));
         },
         "2 results"},
        {"a host function of a sum", [](Graph& g) { of(g, "sum").host = of(g, "host_call").host; }, "host function"},
    };
}

std::vector<Break> breaks_of_interfaces() {
    return {
        {"an output that is not there", [](Graph& g) { g.outputs[0] = VariableId(999); }, "output 0"},
        {"a name too few", [](Graph& g) { g.output_names = {"one"}; }, "1 names for 2 outputs"},
        {"two inputs of one name", [](Graph& g) { g.inputs[1].first = g.inputs[0].first; }, "two inputs 'x'"},
        {"an input that is not there", [](Graph& g) { g.inputs[0].second = VariableId(999); }, "input 'x'"},
        {"one variable for two inputs", [](Graph& g) { g.inputs[1].second = g.inputs[0].second; }, "again"},
        {"a group that is not there", [](Graph& g) { g.parameters[0].variable = VariableId(999); }, "group 'w'"},
        {"a group twice",
         [](Graph& g) {
             g.variables.push_back(g.variables[g.parameters[0].variable.value]);
             g.parameters.push_back({VariableId(static_cast<std::uint32_t>(g.variables.size() - 1)), "w"});
         },
         "'w' twice"},
        {"a group of nothing",
         [](Graph& g) {
             g.variables.push_back({tensor_type({0}), {}});
             g.parameters.push_back({VariableId(static_cast<std::uint32_t>(g.variables.size() - 1)), "none"});
         },
         "'none' is empty"},
        {"more elements than there can be",
         [](Graph& g) {
             g.variables[g.inputs[1].second.value].type = tensor_type({1ULL << 40U, 1ULL << 40U});
         },
         "2^31"},
        {"more elements than a tensor has",
         [](Graph& g) { g.variables[g.inputs[1].second.value].type = tensor_type({1ULL << 40U}); }, "2^31"},
    };
}

std::vector<Break> breaks_of_bodies() {
    return {
        {"an empty body", [](Graph& g) { of(g, "while_loop").bodies[1] = nullptr; }, "empty body"},
        {"a body too few", [](Graph& g) { of(g, "while_loop").bodies.pop_back(); }, "1 bodies"},
        {"no bodies", [](Graph& g) { of(g, "switch").bodies.clear(); }, "switch"},
        {"a body without an operation",
         [](Graph& g) { in_body(g, "while_loop", [](Graph& b) { b.equations[0].operation = nullptr; }); },
         "operations()"},
        {"a body that reads what is not there",
         [](Graph& g) { in_body(g, "switch", [](Graph& b) { b.equations[0].operands[0] = VariableId(77); }); },
         "variable 77"},
        {"a body that gives what is not there",
         [](Graph& g) { in_body(g, "switch", [](Graph& b) { b.outputs[0] = VariableId(77); }); }, "variable 77"},
        {"a body without outputs", [](Graph& g) { in_body(g, "while_loop", [](Graph& b) { b.outputs.clear(); }); },
         "gives 0 values"},
        {"a body that takes more",
         [](Graph& g) {
             in_body(g, "while_loop", [](Graph& b) {
                 b.variables.push_back({});
                 b.inputs.emplace_back("more", VariableId(static_cast<std::uint32_t>(b.variables.size() - 1)));
             });
         },
         "inputs"},
        {"a body whose input is not there",
         [](Graph& g) { in_body(g, "while_loop", [](Graph& b) { b.inputs[0].second = VariableId(77); }); },
         "variable 77"},
        {"a body with parameters",
         [](Graph& g) {
             in_body(g, "while_loop", [](Graph& b) {
                 b.variables.push_back({});
                 b.parameters.push_back({VariableId(static_cast<std::uint32_t>(b.variables.size() - 1)), "own"});
             });
         },
         "own parameters"},
        {"carries that are not there",
         [](Graph& g) {
             of(g, "while_loop").attributes = {{"carries", std::int64_t{9}}, {"limit", std::int64_t{9}}};
         },
         "carries"},
        {"bodies too deep",
         [](Graph& g) {
             for (std::size_t i = 0; i <= kMostNesting; ++i) {
                 Graph outer{.name = "outer", .variables = {{tensor_type({2}), {}}, {tensor_type({2}), {}}}};
                 outer.inputs = {{"x", VariableId(0)}};
                 Equation call{.operation = find_operation("call"), .operands = {VariableId(0)}};
                 call.results = {VariableId(1)};
                 Graph inner{.name = "inner", .variables = {{tensor_type({2}), {}}}};
                 inner.inputs = {{"x", VariableId(0)}};
                 inner.outputs = {VariableId(0)};
                 call.bodies = {std::make_shared<const Graph>(i == 0 ? inner : g)};
                 outer.equations = {call};
                 outer.outputs = {VariableId(1)};
                 g = outer;
             }
         },
         "100 deep"},
    };
}

std::vector<Break> breaks() {
    std::vector<Break> all = breaks_of_wiring();
    for (const auto& more : {breaks_of_interfaces(), breaks_of_bodies()})
        all.insert(all.end(), more.begin(), more.end());
    return all;
}

using Refusal = std::function<std::string(const Graph&)>;

/// By the name that the headers have.
std::multimap<std::string, Refusal> functions() {
    static const std::vector<std::string> groups{"w"};
    static const std::vector<std::pair<std::string, Value>> no_values{};
    const auto arguments = [](const Graph& g) { return GraphArguments{.inputs = std::vector<Value>(g.inputs.size())}; };
    return {
        {"validate", [](const Graph& g) { return refusal(validate(g)); }},
        {"stages", [](const Graph& g) { return refusal(stages(g)); }},
        {"depends_on", [](const Graph& g) { return refusal(depends_on(g)); }},
        {"signature", [](const Graph& g) { return refusal(signature(g)); }},
        {"to_text", [](const Graph& g) { return refusal(to_text(g)); }},
        {"to_dot", [](const Graph& g) { return refusal(to_dot(g)); }},
        {"to_svg", [](const Graph& g) { return refusal(to_svg(g)); }},
        {"place", [](const Graph& g) { return refusal(place(g, groups)); }},
        {"dce", [](const Graph& g) { return refusal(dce(g, std::vector<bool>(g.outputs.size(), true))); }},
        {"inline_calls", [](const Graph& g) { return refusal(inline_calls(g)); }},
        {"as_call", [](const Graph& g) { return refusal(as_call(g)); }},
        {"pushforward", [](const Graph& g) { return refusal(pushforward(g)); }},
        {"pullback", [](const Graph& g) { return refusal(pullback(g)); }},
        {"batch", [](const Graph& g) { return refusal(batch(g, {.size = 2})); }},
        {"sched", [](const Graph& g) { return refusal(sched(g)); }},
        {"weighted", [](const Graph& g) { return refusal(weighted(g)); }},
        {"collect", [](const Graph& g) { return refusal(collect(g)); }},
        {"inject", [](const Graph& g) { return refusal(inject(g, {}, no_values)); }},
        {"with_static_inputs", [](const Graph& g) { return refusal(with_static_inputs(g, no_values)); }},
        {"fold", [](const Graph& g) { return refusal(fold(g)); }},
        {"folded_outputs", [](const Graph& g) { return refusal(folded_outputs(g)); }},
        {"call", [=](const Graph& g) { return refusal(call(g, arguments(g))); }},
        {"call",
         [=](const Graph& g) {
             Memo memo;
             return refusal(call(g, arguments(g), memo));
         }},
        {"call_async",
         [=](const Graph& g) {
             auto pool = HostPool::create({.threads = 2});
             return refusal(call_async(g, arguments(g), *pool));
         }},
        {"create", [=](const Graph& g) { return refusal(Walk::create(g, arguments(g))); }},
        {"lower_to_rollout", [](const Graph& g) { return refusal(lower_to_rollout(g)); }},
        {"refresh",
         [](const Graph& g) {
             TracedExample example{.graph = g, .values = std::vector<Value>(g.variables.size())};
             return refusal(population::refresh(example, {}));
         }},
    };
}

TEST(invalid_graphs, are_refused_by_every_function_with_the_words_of_validate) {
    ASSERT_OK(validate(sound()));
    for (const Break& broken : breaks()) {
        Graph graph = sound();
        broken.change(graph);
        const std::string said = refusal(validate(graph));
        ASSERT_THAT(said, HasSubstr(broken.says)) << broken.name;
        for (const auto& [name, refuse] : functions())
            EXPECT_THAT(refuse(graph), HasSubstr(said)) << name << ": " << broken.name;
    }
}

TEST(invalid_graphs, are_given_to_every_function_that_takes_one) {
    std::set<std::string> known;
    for (const auto& [name, refuse] : functions()) known.insert(name);
    const auto headers = std::filesystem::path(__FILE__).parent_path().parent_path() / "include/yolk";
    const std::regex taking(R"((\w+)\(\s*(?:const )?(?:Graph|TracedExample)& \w+)");
    std::size_t found = 0;
    for (const auto& entry : std::filesystem::recursive_directory_iterator(headers)) {
        if (!entry.is_regular_file()) continue;
        std::stringstream text;
        text << std::ifstream(entry.path()).rdbuf();
        const std::string header = text.str();
        for (std::sregex_iterator at(header.begin(), header.end(), taking), end; at != end; ++at, ++found)
            EXPECT_TRUE(known.contains((*at)[1])) << (*at)[1] << " of " << entry.path().filename();
    }
    EXPECT_GE(found, known.size()) << "the headers are read";
}

TEST(invalid_graphs, may_not_be_built) {
    GraphBuilder builder("built");
    EXPECT_THAT(refusal(builder.add({})), HasSubstr("without an operation"));
    EXPECT_THAT(refusal(builder.apply("no such thing", {})), HasSubstr("no operation 'no such thing'"));
    EXPECT_THAT(refusal(builder.apply("add", {VariableId(3), Value(1.0)})), HasSubstr("variable 3; there are 0"));
    EXPECT_THAT(refusal(builder.add({.operation = find_operation("call"), .bodies = {nullptr}})),
                HasSubstr("empty body"));
}

TEST(invalid_graphs, without_anything_are_valid) {
    for (const auto& [name, refuse] : functions()) {
        if (name == "lower_to_rollout") continue;
        EXPECT_EQ(refuse(Graph{}), "it went through") << name;
    }
}

/// Each body calls the one below twice: 2^60 ways through, 60 bodies.
TEST(invalid_graphs, share_bodies_that_are_looked_at_once) {
    Graph graph{.name = "leaf", .variables = {{number_type(), {}}}};
    graph.inputs = {{"x", VariableId(0)}};
    graph.outputs = {VariableId(0)};
    for (int i = 0; i < 60; ++i) {
        const auto body = std::make_shared<const Graph>(graph);
        GraphBuilder builder("twice");
        const Atom x = builder.input("x", number_type());
        std::vector<Atom> y =
            builder.add({.operation = find_operation("call"), .operands = {x}, .bodies = {body}}).value();
        y = builder.add({.operation = find_operation("call"), .operands = y, .bodies = {body}}).value();
        graph = std::move(builder).finish(y);
    }
    EXPECT_OK(validate(graph));
}

class invalid_graphs_of_examples : public ::yolk::testing::DeviceTest {};
YOLK_FOR_EACH_DEVICE(invalid_graphs_of_examples);

TEST_P(invalid_graphs_of_examples, are_refused_by_the_evaluator) {
    ParameterSet set;
    ASSERT_OK(set.add(vector_spec("w", 2), Tensor::vector({1.0F, 2.0F})));
    const auto example_of = [](Graph graph) {
        TracedExample example{.graph = std::move(graph), .values = {}};
        for (const Variable& variable : example.graph.variables) example.values.push_back(blank_of(variable.type));
        return example;
    };
    const std::vector<TracedExample> good{example_of(sound())};
    ASSERT_OK_AND_ASSIGN(auto evaluator, PopulationEvaluator::create({.devices = dispatcher()}, good, set, {}));
    for (const Break& broken : breaks()) {
        Graph graph = sound();
        broken.change(graph);
        TracedExample example{.graph = std::move(graph), .values = {}};
        example.values.resize(example.graph.variables.size());
        const std::vector<TracedExample> bad{example};
        EXPECT_THAT(refusal(PopulationEvaluator::create({.devices = dispatcher()}, bad, set, {})),
                    HasSubstr(refusal(validate(example.graph))))
            << broken.name;
        EXPECT_NE(refusal(evaluator.set_examples(bad)), "it went through") << broken.name;
    }
}

}  // namespace
}  // namespace yolk::hyper::invalid_graphs
