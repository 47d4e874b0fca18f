// SPDX-License-Identifier: Apache-2.0
#include "scored_example.hpp"
#include "valid_graph.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>
#include <vector>

#include "evaluation.hpp"
#include "example_view.hpp"
#include "graph_copy.hpp"
#include "yolk/internal/core/printable.hpp"
#include "yolk/internal/hyper/control.hpp"
#include "yolk/internal/hyper/operations.hpp"

namespace yolk::hyper {
namespace {

/// A graph of (record, expected) as one of (its fields, expected): what reads fields reads those.
Result<Graph> of_fields(const Graph& rewards, const ScoredOutputs& scored) {
    GraphBuilder builder(rewards.name);
    Equation pack{.operation = find_operation("pack"), .attributes = {{"names", scored.names}}};
    for (const auto& [name, type] : scored.type.fields) pack.operands.emplace_back(builder.input(name, type));
    const ValueType& expected = rewards.variables[rewards.inputs[1].second.value].type;
    const Atom wanted = builder.input(rewards.inputs[1].first + "\n", expected);
    YOLK_TRY(const std::vector<Atom> record, builder.add(std::move(pack)));
    const Atom operands[] = {record[0], wanted};
    YOLK_TRY(std::vector<Atom> made, splice(rewards, operands, builder));
    return dce(std::move(builder).finish(std::move(made)), {true});
}

/// Of the prediction (each field where it is a record) and the expected value.
Result<Graph> reward_graph(const Metric& metric, const ScoredOutputs& scored, const ValueType& expected) {
    const std::pair<std::string, ValueType> inputs[] = {{"prediction", scored.type}, {"expected", expected}};
    auto traced = trace(metric.name, inputs, [&](std::span<const Traced> values) {
        return TracedValues{metric.traced(values[0], values[1])};
    });
    if (!traced) return std::move(traced).error().while_doing(fmt::format("tracing metric '{}'", shown(metric.name)));
    return scored.names.empty() ? traced : of_fields(*traced, scored);
}

/// What the metric gave, as a tensor [1].
Result<Atom> as_reward(const Metric& metric, GraphBuilder& builder, const Atom& given) {
    const ValueType type = builder.type(given);
    if (type.kind == ValueKind::Number || type.kind == ValueKind::Integer)
        return builder.apply("multiply", {given, Value(Tensor::vector({1.0F}))});
    if (type.kind != ValueKind::Tensor || type.shape.element_count().value_or(0) != 1) {
        return bad_input("Metric '{}' gives {}; a reward is a number or a tensor of one element.", shown(metric.name),
                         to_string(type));
    }
    if (type.shape == Shape{1}) return given;
    return builder.apply("reshape", {given}, {{"shape", std::vector<std::int64_t>{1}}});
}

/// Of equations from `first` on, those that depend on none of the groups (not given: on no parameter).
Result<void> evaluate_data(TracedExample& example, std::size_t first,
                           std::optional<std::span<const std::string>> varying) {
    const std::vector<bool> varies = dependents_of(example.graph, varying);
    for (std::size_t i = first; i < example.graph.equations.size(); ++i) {
        const Equation& equation = example.graph.equations[i];
        if (std::ranges::any_of(equation.results, [&](VariableId id) { return varies[id.value]; })) continue;
        std::vector<Value> operands;
        for (const Atom& atom : equation.operands) {
            const auto* id = std::get_if<VariableId>(&atom);
            operands.push_back(id != nullptr ? example.values[id->value] : std::get<Value>(atom));
        }
        YOLK_TRY(std::vector<Value> results, evaluate_at(example.graph, i, operands));
        YOLK_TRY_VOID(check_results(example.graph, i, results));
        for (std::size_t r = 0; r < results.size(); ++r)
            example.values[equation.results[r].value] = std::move(results[r]);
    }
    return {};
}

}  // namespace

Result<ScoredOutputs> scored_outputs(const Graph& graph, const Metric& metric) {
    if (population::has_one_output(graph) && metric.field.empty())
        return ScoredOutputs{.outputs = {0}, .type = type_of(graph, graph.outputs.front())};
    ScoredOutputs all{.outputs = {}, .type = {.kind = ValueKind::Record}};
    std::string names;
    for (std::size_t i = 0; !population::has_one_output(graph) && i < graph.outputs.size(); ++i) {
        const std::string name = graph.output_names.empty() ? fmt::format("{}", i) : graph.output_names[i];
        const ValueType type = type_of(graph, graph.outputs[i]);
        if (name == metric.field) return ScoredOutputs{.outputs = {i}, .type = type};
        names += fmt::format("{}'{}'", names.empty() ? "" : ", ", shown(name));
        all.outputs.push_back(i);
        all.names.push_back(name);
        all.type.fields.emplace_back(name, type);
    }
    if (metric.field.empty()) return all;
    return bad_input("Metric '{}' scores the output '{}' of a system that has {}. Name one of them.",
                     shown(metric.name), shown(metric.field), names.empty() ? "one output, without a name" : names);
}

Result<TracedExample> scored_example(const TracedExample& example, const Metric& metric, const Value& expected,
                                     std::optional<std::span<const std::string>> varying) {
    if (!metric.traced) {
        return bad_input(
            "Metric '{}' has no form over traced values, so it has no derivative. Take numeric_distance(), "
            "cross_entropy(), sequence_cross_entropy(), or make one with traced_metric().",
            shown(metric.name));
    }
    const Graph& graph = example.graph;
    YOLK_TRY(const ScoredOutputs given, scored_outputs(graph, metric));
    if (metric.check) YOLK_TRY_VOID(metric.check(given.type, expected));
    // 1 beside .5 in another example: one structure for both.
    ValueType wanted_type = type_of(expected);
    if (wanted_type.kind == ValueKind::Integer) wanted_type.kind = ValueKind::Number;
    YOLK_TRY(const Graph rewards, reward_graph(metric, given, wanted_type));

    GraphBuilder builder(graph.name);
    Mapping mapping(graph);
    copy_interface(graph, builder, mapping);
    const VariableId wanted = builder.input(kExpectedInput, wanted_type);
    for (const Equation& equation : graph.equations) YOLK_TRY_VOID(copy_equation(graph, equation, mapping, builder));
    std::vector<Atom> operands;
    for (const std::size_t output : given.outputs) operands.push_back(mapping(graph.outputs[output]));
    operands.emplace_back(wanted);
    YOLK_TRY(const std::vector<Atom> made, splice(rewards, operands, builder));
    YOLK_TRY(Atom reward, as_reward(metric, builder, made.front()));
    TracedExample scored{.graph = std::move(builder).finish({std::move(reward)}),
                         .values = {},
                         .notes = example.notes,
                         .cuts = example.cuts};
    scored.values.resize(scored.graph.variables.size());
    for (std::uint32_t id = 0; id < graph.variables.size(); ++id) {
        const Atom to = mapping(Atom(VariableId(id)));
        if (const auto* variable = std::get_if<VariableId>(&to)) scored.values[variable->value] = example.values[id];
    }
    YOLK_TRY(scored.values[wanted.value], conformed(expected, wanted_type));
    YOLK_TRY_VOID(evaluate_data(scored, graph.equations.size(), varying));
    return scored;
}

}  // namespace yolk::hyper
