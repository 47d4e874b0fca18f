// SPDX-License-Identifier: Apache-2.0
#include "graph_queries.hpp"

#include <algorithm>

namespace yolk::hyper {

std::vector<ValueType> types_of(const Graph& graph, std::span<const VariableId> variables) {
    std::vector<ValueType> types;
    for (const VariableId id : variables) types.push_back(graph.variables[id.value].type);
    return types;
}

ValueType type_of(const Graph& graph, const Atom& atom) {
    const auto* id = std::get_if<VariableId>(&atom);
    return id != nullptr ? graph.variables[id->value].type : type_of(std::get<Value>(atom));
}

std::vector<ValueType> input_types(const Graph& body) {
    std::vector<ValueType> types;
    for (const auto& [name, id] : body.inputs) types.push_back(body.variables[id.value].type);
    return types;
}

std::vector<ValueType> output_types(const Graph& body) {
    std::vector<ValueType> types;
    for (const Atom& output : body.outputs) types.push_back(type_of(body, output));
    return types;
}

bool is(const Equation& equation, std::string_view operation) { return equation.operation->name == operation; }

bool has_effects(const Equation& equation) {
    if (equation.operation->has_effects) return true;
    return std::ranges::any_of(equation.bodies,
                               [](const auto& body) { return std::ranges::any_of(body->equations, has_effects); });
}

std::size_t nesting_of(const Graph& graph, std::size_t most) {
    std::size_t deepest = 0;
    for (const Equation& equation : graph.equations) {
        for (const auto& body : equation.bodies) {
            if (most > 0) deepest = std::max(deepest, 1 + nesting_of(*body, most - 1));
        }
    }
    return deepest;
}

std::vector<bool> variables_read(const Graph& graph) {
    std::vector<bool> read(graph.variables.size(), false);
    const auto mark = [&](std::span<const Atom> atoms) {
        for (const Atom& atom : atoms) {
            if (const auto* id = std::get_if<VariableId>(&atom)) read[id->value] = true;
        }
    };
    for (const Equation& equation : graph.equations) mark(equation.operands);
    mark(graph.outputs);
    return read;
}

std::vector<std::vector<std::size_t>> readers_of(const Graph& graph) {
    std::vector<std::vector<std::size_t>> readers(graph.variables.size());
    for (std::size_t i = 0; i < graph.equations.size(); ++i) {
        for (const Atom& atom : graph.equations[i].operands) {
            if (const auto* id = std::get_if<VariableId>(&atom)) readers[id->value].push_back(i);
        }
    }
    return readers;
}

bool can_move(const ValueType& type) {
    if (type.kind == ValueKind::List || type.kind == ValueKind::Integer) return false;
    if (type.kind != ValueKind::Record) return type.kind != ValueKind::Boolean;
    return std::ranges::any_of(type.fields, [](const auto& field) { return can_move(field.second); });
}

bool has_text(const ValueType& type) {
    if (type.kind == ValueKind::Text) return true;
    return std::ranges::any_of(type.fields, [](const auto& field) { return has_text(field.second); });
}

std::uint64_t model_calls_in(const Graph& graph) {
    std::uint64_t calls = 0;
    for (const Equation& equation : graph.equations) {
        if (equation.host != nullptr && equation.host->model != nullptr) ++calls;
        for (const auto& body : equation.bodies) calls += model_calls_in(*body);
    }
    return calls;
}

}  // namespace yolk::hyper
