// SPDX-License-Identifier: Apache-2.0
#include "fusion.hpp"

#include <algorithm>
#include <optional>

#include "lowering_rules.hpp"

namespace yolk::hyper::population {
namespace {

bool reads(const Atom& atom, VariableId variable) {
    const auto* id = std::get_if<VariableId>(&atom);
    return id != nullptr && *id == variable;
}

bool is_layer(const Equation& equation) {
    return equation.operation->name == "linear" || equation.operation->name == "linear_transposed";
}

/// The one equation that reads the variable.
std::optional<std::size_t> only_reader(const Graph& graph, VariableId variable) {
    if (std::ranges::any_of(graph.outputs, [&](const Atom& atom) { return reads(atom, variable); })) return {};
    std::optional<std::size_t> reader;
    for (std::size_t i = 0; i < graph.equations.size(); ++i) {
        const auto count =
            std::ranges::count_if(graph.equations[i].operands, [&](const Atom& atom) { return reads(atom, variable); });
        if (count == 0) continue;
        if (count > 1 || reader) return {};
        reader = i;
    }
    return reader;
}

}  // namespace

std::optional<Activation> activation_of(const Operation& operation) {
    const auto activation = named_like<Activation>(operation);
    if (activation == Activation::Identity || to_string(activation) != operation.name) return {};
    return activation;
}

std::vector<Fused> fuse(const Graph& graph, const PlacedGraph& placed, const std::vector<bool>& read_on_host) {
    std::vector<Fused> fused(graph.equations.size());
    const auto on_device = [&](std::size_t i) { return placed.equations[i].placement == Placement::Device; };
    for (std::size_t i = 0; i < graph.equations.size(); ++i) {
        const Equation& layer = graph.equations[i];
        if (!on_device(i) || !is_layer(layer)) continue;
        const VariableId between = layer.results[0];
        const std::optional<std::size_t> reader = only_reader(graph, between);
        if (read_on_host[between.value] || !reader || !on_device(*reader)) continue;
        const Equation& after = graph.equations[*reader];
        const std::optional<Activation> activation = activation_of(*after.operation);
        if (!activation || after.operands.size() != 1) continue;
        if (placed.variables[after.results[0].value].per_example != placed.variables[between.value].per_example)
            continue;
        fused[i] = {.activation = *activation, .result = after.results[0]};
        fused[*reader].is_absorbed = true;
    }
    return fused;
}

}  // namespace yolk::hyper::population
