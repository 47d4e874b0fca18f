// SPDX-License-Identifier: Apache-2.0
#include "outputs.hpp"

#include <algorithm>
#include <cstddef>

#include "yolk/internal/hyper/operations.hpp"

namespace yolk::hyper {
namespace {

void skip(VariableId& id, VariableId dropped) {
    if (id.value > dropped.value) id = VariableId(id.value - 1);
}
void skip(std::vector<Atom>& atoms, VariableId dropped) {
    for (Atom& atom : atoms) {
        if (auto* id = std::get_if<VariableId>(&atom)) skip(*id, dropped);
    }
}

/// Of a variable that nothing reads or makes; those above it move down.
void drop_variable(TracedExample& trace, VariableId dropped) {
    Graph& graph = trace.graph;
    graph.variables.erase(graph.variables.begin() + dropped.value);
    trace.values.erase(trace.values.begin() + dropped.value);
    for (auto& [key, id] : graph.inputs) skip(id, dropped);
    for (GraphParameter& parameter : graph.parameters) skip(parameter.variable, dropped);
    for (Equation& equation : graph.equations) {
        skip(equation.operands, dropped);
        for (VariableId& id : equation.results) skip(id, dropped);
    }
    skip(graph.outputs, dropped);
}

}  // namespace

void dissolve_pack(TracedExample& trace) {
    Graph& graph = trace.graph;
    const auto* packed = std::get_if<VariableId>(&graph.outputs.front());
    if (packed == nullptr) return;
    const VariableId record = *packed;
    const auto pack = std::ranges::find_if(graph.equations, [&](const Equation& equation) {
        return equation.operation->name == "pack" && equation.results.front() == record;
    });
    if (pack == graph.equations.end()) return;
    auto names = texts_attribute(*pack, "names");
    if (!names) return;
    graph.outputs = pack->operands;
    graph.output_names = *std::move(names);
    const auto reads_it = [&](const Equation& equation) {
        return std::ranges::find(equation.operands, Atom(record)) != equation.operands.end();
    };
    if (std::ranges::any_of(graph.equations, reads_it)) return;
    graph.equations.erase(pack);
    drop_variable(trace, record);
}

}  // namespace yolk::hyper
