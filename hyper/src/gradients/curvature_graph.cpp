// SPDX-License-Identifier: Apache-2.0
#include "curvature_graph.hpp"

#include <algorithm>
#include <cmath>
#include <map>
#include <utility>

#include "gradient_graph.hpp"
#include "graph_copy.hpp"
#include "scored_example.hpp"
#include "yolk/graph.hpp"
#include "yolk/internal/hyper/control.hpp"

namespace yolk::hyper {
namespace {

constexpr const char* kLayerInputs = "inputs of layers\n";  // a collection of checkpoints

/// By equation: the group whose matrix it multiplies by, where nothing else reads that.
std::map<std::size_t, std::string> layers_of(const Graph& graph, std::span<const std::string> groups) {
    std::map<std::size_t, std::string> layers;
    for (const GraphParameter& parameter : graph.parameters) {
        if (!names_one(groups, parameter.group)) continue;
        std::size_t reads = 0;
        std::optional<std::size_t> layer;
        for (std::size_t i = 0; i < graph.equations.size(); ++i) {
            const std::vector<Atom>& operands = graph.equations[i].operands;
            const Atom wanted(parameter.variable);
            const auto read = std::ranges::count_if(operands, [&](const Atom& operand) { return operand == wanted; });
            reads += static_cast<std::size_t>(read);
            if (read > 0 && is(graph.equations[i], "linear") && operands[0] == wanted) layer = i;
        }
        if (layer && reads == 1) layers.emplace(*layer, parameter.group);
    }
    return layers;
}

struct Probed {
    Graph graph{};
    std::vector<std::string> groups{};
};

/// The sum of the batch's rewards, each layer's inputs a checkpoint, its results with a probe added.
Result<Probed> with_probes(const Graph& batched, std::span<const std::string> groups, std::uint32_t size) {
    const std::map<std::size_t, std::string> layers = layers_of(batched, groups);
    Probed probed;
    GraphBuilder builder(batched.name);
    Mapping mapping(batched);
    copy_interface(batched, builder, mapping);
    for (std::size_t i = 0; i < batched.equations.size(); ++i) {
        const Equation& equation = batched.equations[i];
        const auto layer = layers.find(i);
        if (layer == layers.end()) {
            YOLK_TRY_VOID(copy_equation(batched, equation, mapping, builder));
            continue;
        }
        const std::string& group = layer->second;
        YOLK_TRY(const Atom inputs, builder.apply("checkpoint", {mapping(equation.operands[1])},
                                                  {{"key", group}, {"collection", std::string(kLayerInputs)}}));
        YOLK_TRY(const Atom plain, builder.apply("linear", {mapping(equation.operands[0]), inputs}));
        const VariableId probe = builder.input(kProbeInput + group, builder.type(plain));
        YOLK_TRY(Atom result, builder.apply("add", {plain, Atom(probe)}));
        mapping.set(equation.results.front(), std::move(result));
        probed.groups.push_back(group);
    }
    const std::vector<std::int64_t> flat{static_cast<std::int64_t>(size)};
    YOLK_TRY(const Atom rewards, builder.apply("reshape", {mapping(batched.outputs.front())}, {{"shape", flat}}));
    YOLK_TRY(Atom sum, builder.apply("sum", {rewards}, {{"dimension", std::int64_t{0}}}));
    probed.graph = std::move(builder).finish({std::move(sum)});
    return probed;
}

/// [rows, columns] of the last dimension, times a factor.
Result<Atom> rows_of(GraphBuilder& builder, const Atom& x, float factor) {
    const Shape shape = builder.type(x).shape;
    const std::uint64_t columns = shape[shape.rank() - 1];
    const std::uint64_t rows = shape.element_count().value_or(0) / columns;
    YOLK_TRY(Atom flat, builder.apply("reshape", {x},
                                      {{"shape", std::vector<std::int64_t>{static_cast<std::int64_t>(rows),
                                                                           static_cast<std::int64_t>(columns)}}}));
    if (factor == 1.0F) return flat;
    return builder.apply("multiply", {std::move(flat), Atom(Value(Tensor::vector({factor})))});
}

/// Behind the equations of `builder`: those of `graph`, with the inputs and parameters that are there already.
Result<Mapping> append(const Graph& graph, const Graph& there, const Mapping& mapped, GraphBuilder& builder) {
    Mapping mapping(graph);
    for (const auto& [name, id] : graph.inputs) {
        const auto known = std::ranges::find(there.inputs, name, [](const auto& input) { return input.first; });
        mapping.set(id, known == there.inputs.end() ? Atom(builder.input(name, graph.variables[id.value].type))
                                                    : mapped(Atom(known->second)));
    }
    for (const GraphParameter& parameter : graph.parameters) {
        const auto known = std::ranges::find(there.parameters, parameter.group, &GraphParameter::group);
        const ValueType& type = graph.variables[parameter.variable.value].type;
        mapping.set(parameter.variable, known == there.parameters.end() ? Atom(builder.parameter(parameter.group, type))
                                                                        : mapped(Atom(known->variable)));
    }
    for (const Equation& equation : graph.equations) {
        // Both have done what they were there for, and neither has a kernel.
        if (is(equation, "checkpoint") || is(equation, "stop_gradient")) {
            mapping.set(equation.results.front(), mapping(equation.operands.front()));
        } else {
            YOLK_TRY_VOID(copy_equation(graph, equation, mapping, builder));
        }
    }
    return mapping;
}

}  // namespace

Result<std::optional<Graph>> sampled_graph(const Graph& example, const Metric& metric) {
    if (!metric.sampled || !metric.traced) return std::optional<Graph>();
    YOLK_TRY(const ScoredOutputs scored, scored_outputs(example, metric));
    if (!scored.names.empty()) return std::optional<Graph>();  // noise is of one tensor's shape
    const ValueType& prediction = scored.type;
    const std::pair<std::string, ValueType> inputs[] = {{"prediction", prediction}, {"noise", prediction}};
    YOLK_TRY(const Graph rewards, trace(metric.name, inputs, [&](std::span<const Traced> values) {
                 const Traced expected = metric.sampled(stop_gradient(values[0]), values[1]);
                 return TracedValues{metric.traced(values[0], expected)};
             }));
    GraphBuilder builder(example.name);
    Mapping mapping(example);
    copy_interface(example, builder, mapping);
    const VariableId noise = builder.input(kNoiseInput, prediction);
    for (const Equation& equation : example.equations)
        YOLK_TRY_VOID(copy_equation(example, equation, mapping, builder));
    const Atom operands[] = {mapping(example.outputs[scored.outputs.front()]), noise};
    YOLK_TRY(const std::vector<Atom> made, splice(rewards, operands, builder));
    return std::optional(std::move(builder).finish({made.front()}));
}

Result<CurvatureGraph> curvature_graph(const Graph& gradient, const Graph& sampled, std::uint32_t size,
                                       std::span<const std::string> groups) {
    YOLK_TRY(const Graph flat, inline_calls(sampled));
    YOLK_TRY(const Graph batched, batch(flat, {.size = size}));
    YOLK_TRY(const Probed probed, with_probes(batched, groups, size));
    std::vector<std::string> probes;
    for (const std::string& group : probed.groups) probes.push_back(kProbeInput + group);
    YOLK_TRY(const Graph derived, pullback(probed.graph, {.inputs = probes, .parameters = std::vector<std::string>{}}));
    YOLK_TRY(const Collected collected, collect(derived, kLayerInputs));

    GraphBuilder builder(gradient.name);
    Mapping mapping(gradient);
    copy_interface(gradient, builder, mapping);
    for (const Equation& equation : gradient.equations)
        YOLK_TRY_VOID(copy_equation(gradient, equation, mapping, builder));
    YOLK_TRY(const Mapping added, append(collected.graph, gradient, mapping, builder));
    std::vector<Atom> outputs = mapping(gradient.outputs);
    CurvatureGraph made;
    const std::size_t behind = 1 + probes.size();  // outputs of the collected graph before the checkpoints'
    for (std::size_t i = 0; i < probes.size(); ++i) {
        const std::string& group = probed.groups[i];
        const auto key = std::ranges::find(collected.keys, group) - collected.keys.begin();
        YOLK_TRY(Atom inputs,
                 rows_of(builder, added(collected.graph.outputs[behind + static_cast<std::size_t>(key)]), 1.0F));
        const Shape in = builder.type(inputs).shape;
        const auto samples = static_cast<std::uint32_t>(in[0]);
        const float scale = std::sqrt(static_cast<float>(samples) / static_cast<float>(size));
        YOLK_TRY(Atom derivatives, rows_of(builder, added(collected.graph.outputs[1 + i]), scale));
        const Shape out = builder.type(derivatives).shape;
        made.layers.push_back({.group = group,
                               .n_out = static_cast<std::uint32_t>(out[1]),
                               .n_in = static_cast<std::uint32_t>(in[1]),
                               .samples = samples,
                               .inputs = outputs.size(),
                               .derivatives = outputs.size() + 1});
        outputs.push_back(std::move(inputs));
        outputs.push_back(std::move(derivatives));
    }
    const Graph whole = std::move(builder).finish(std::move(outputs));
    YOLK_TRY(made.graph, without_dead_code(whole, std::vector<bool>(whole.outputs.size(), true), false));
    return made;
}

}  // namespace yolk::hyper
