// SPDX-License-Identifier: Apache-2.0
#include "yolk/hyper/transforms.hpp"

#include <algorithm>

namespace yolk::hyper {
namespace {

bool is_call(const Equation& equation) { return equation.operation == find_operation("call"); }

bool has_effects(const Equation& equation) {
    if (equation.operation->has_effects) return true;
    return std::ranges::any_of(equation.bodies,
                               [](const auto& body) { return std::ranges::any_of(body->equations, has_effects); });
}

std::vector<ValueType> types_of(const Graph& graph, std::span<const VariableId> variables) {
    std::vector<ValueType> types;
    for (const VariableId id : variables) types.push_back(graph.variables[id.value].type);
    return types;
}

/// What the variables of a graph are in the one that is being built from it.
class Mapping {
   public:
    explicit Mapping(const Graph& graph) : atoms_(graph.variables.size()) {}
    void set(VariableId from, Atom to) { atoms_[from.value] = std::move(to); }
    void set_all(std::span<const VariableId> from, std::span<const Atom> to) {
        for (std::size_t i = 0; i < from.size(); ++i) set(from[i], to[i]);
    }
    [[nodiscard]] Atom operator()(const Atom& atom) const {
        const auto* id = std::get_if<VariableId>(&atom);
        return id != nullptr ? atoms_[id->value] : atom;
    }
    [[nodiscard]] std::vector<Atom> operator()(std::span<const Atom> atoms) const {
        std::vector<Atom> mapped;
        for (const Atom& atom : atoms) mapped.push_back((*this)(atom));
        return mapped;
    }

   private:
    std::vector<Atom> atoms_;
};

void copy_interface(const Graph& graph, GraphBuilder& builder, Mapping& mapping) {
    for (const auto& [name, id] : graph.inputs) mapping.set(id, builder.input(name, graph.variables[id.value].type));
    for (const GraphParameter& parameter : graph.parameters)
        mapping.set(parameter.variable,
                    builder.parameter(parameter.group, graph.variables[parameter.variable.value].type));
}

/// Appends a copy of `equation` of `graph`.
Result<void> copy_equation(const Graph& graph, const Equation& equation, Mapping& mapping, GraphBuilder& builder) {
    Equation copy = equation;
    copy.operands = mapping(equation.operands);
    YOLK_TRY(const std::vector<Atom> results, builder.add(std::move(copy), types_of(graph, equation.results)));
    mapping.set_all(equation.results, results);
    return {};
}

void mark(std::span<const Atom> atoms, std::vector<bool>& live) {
    for (const Atom& atom : atoms) {
        if (const auto* id = std::get_if<VariableId>(&atom)) live[id->value] = true;
    }
}

bool any_live(const Equation& equation, const std::vector<bool>& live) {
    return std::ranges::any_of(equation.results, [&](VariableId id) { return bool{live[id.value]}; });
}

/// The call with a body of its live results and of the inputs that those need.
Result<Equation> pruned_call(const Equation& call, const std::vector<bool>& live) {
    std::vector<bool> used;
    for (const VariableId id : call.results) used.push_back(live[id.value]);
    YOLK_TRY(Graph body, dce(*call.bodies[0], used));
    std::vector<bool> read(body.variables.size(), false);
    for (const Equation& equation : body.equations) mark(equation.operands, read);
    mark(body.outputs, read);
    GraphBuilder builder(body.name);
    Mapping mapping(body);
    Equation pruned = call;
    pruned.operands.clear();
    pruned.results.clear();
    for (std::size_t i = 0; i < body.inputs.size(); ++i) {
        const auto& [name, id] = body.inputs[i];
        if (!read[id.value]) continue;
        mapping.set(id, builder.input(name, body.variables[id.value].type));
        pruned.operands.push_back(call.operands[i]);
    }
    for (const Equation& equation : body.equations) YOLK_TRY_VOID(copy_equation(body, equation, mapping, builder));
    pruned.bodies = {std::make_shared<const Graph>(std::move(builder).finish(mapping(body.outputs)))};
    for (const VariableId id : call.results) {
        if (live[id.value]) pruned.results.push_back(id);
    }
    return pruned;
}

Result<void> inline_into(const Graph& graph, Mapping& mapping, GraphBuilder& builder) {
    for (const Equation& equation : graph.equations) {
        if (!is_call(equation)) {
            YOLK_TRY_VOID(copy_equation(graph, equation, mapping, builder));
            continue;
        }
        const Graph& body = *equation.bodies[0];
        Mapping inner(body);
        for (std::size_t i = 0; i < body.inputs.size(); ++i)
            inner.set(body.inputs[i].second, mapping(equation.operands[i]));
        YOLK_TRY_VOID(inline_into(body, inner, builder));
        mapping.set_all(equation.results, inner(body.outputs));
    }
    return {};
}

}  // namespace

VariableId GraphBuilder::variable(ValueType type, std::string name) {
    graph_.variables.push_back({std::move(type), std::move(name)});
    return VariableId(static_cast<std::uint32_t>(graph_.variables.size() - 1));
}
VariableId GraphBuilder::input(std::string name, ValueType type) {
    const VariableId id = variable(std::move(type), name);
    graph_.inputs.emplace_back(std::move(name), id);
    return id;
}
VariableId GraphBuilder::parameter(std::string group, ValueType type) {
    const VariableId id = variable(std::move(type), group);
    graph_.parameters.push_back({id, std::move(group)});
    return id;
}

ValueType GraphBuilder::type(const Atom& atom) const {
    const auto* id = std::get_if<VariableId>(&atom);
    return id != nullptr ? graph_.variables[id->value].type : type_of(std::get<Value>(atom));
}

Result<std::vector<Atom>> GraphBuilder::add(Equation equation, std::span<const ValueType> host_types) {
    std::vector<ValueType> operands;
    for (const Atom& operand : equation.operands) operands.push_back(type(operand));
    YOLK_TRY(std::vector<ValueType> types, equation.operation->types(equation, operands));
    if (equation.host != nullptr) types.assign(host_types.begin(), host_types.end());
    equation.results.clear();
    std::vector<Atom> results;
    for (ValueType& of : types) {
        const VariableId id = variable(std::move(of), {});
        equation.results.push_back(id);
        results.emplace_back(id);
    }
    graph_.equations.push_back(std::move(equation));
    return results;
}

Result<Atom> GraphBuilder::apply(std::string_view operation, std::vector<Atom> operands, Attributes attributes) {
    Equation equation{
        .operation = find_operation(operation), .operands = std::move(operands), .attributes = std::move(attributes)};
    if (equation.operation == nullptr) return bad_input("There is no operation '{}'.", operation);
    YOLK_TRY(const std::vector<Atom> results, add(std::move(equation)));
    if (results.size() != 1) return bad_input("Operation '{}' has {} results.", operation, results.size());
    return results[0];
}

Graph GraphBuilder::finish(std::vector<Atom> outputs) && {
    graph_.outputs = std::move(outputs);
    return std::move(graph_);
}

Result<Graph> dce(const Graph& graph, const std::vector<bool>& outputs_used) {
    if (outputs_used.size() != graph.outputs.size()) {
        return bad_input("dce: graph '{}' has {} outputs, but {} flags were given.", graph.name, graph.outputs.size(),
                         outputs_used.size());
    }
    std::vector<Atom> outputs;
    for (std::size_t i = 0; i < outputs_used.size(); ++i) {
        if (outputs_used[i]) outputs.push_back(graph.outputs[i]);
    }
    std::vector<bool> live(graph.variables.size(), false);
    mark(outputs, live);
    std::vector<Equation> kept;  // from the back
    for (std::size_t i = graph.equations.size(); i-- > 0;) {
        const Equation& equation = graph.equations[i];
        if (!any_live(equation, live) && !has_effects(equation)) continue;
        if (is_call(equation)) {
            YOLK_TRY(Equation call, pruned_call(equation, live));
            kept.push_back(std::move(call));
        } else {
            kept.push_back(equation);
        }
        mark(kept.back().operands, live);
    }
    GraphBuilder builder(graph.name);
    Mapping mapping(graph);
    Graph interface = graph;
    std::erase_if(interface.parameters, [&](const GraphParameter& p) { return !live[p.variable.value]; });
    copy_interface(interface, builder, mapping);
    for (std::size_t i = kept.size(); i-- > 0;) YOLK_TRY_VOID(copy_equation(graph, kept[i], mapping, builder));
    return std::move(builder).finish(mapping(outputs));
}

Result<Graph> inline_calls(const Graph& graph) {
    GraphBuilder builder(graph.name);
    Mapping mapping(graph);
    copy_interface(graph, builder, mapping);
    YOLK_TRY_VOID(inline_into(graph, mapping, builder));
    return std::move(builder).finish(mapping(graph.outputs));
}

Result<Graph> as_call(const Graph& graph) {
    Graph body = graph;
    for (const GraphParameter& parameter : graph.parameters)
        body.inputs.emplace_back(parameter.group, parameter.variable);
    body.parameters.clear();
    GraphBuilder builder(graph.name);
    Mapping mapping(graph);
    copy_interface(graph, builder, mapping);
    Equation call;
    call.operation = find_operation("call");
    for (const auto& [name, id] : body.inputs) call.operands.push_back(mapping(Atom(id)));
    call.bodies = {std::make_shared<const Graph>(std::move(body))};
    YOLK_TRY(std::vector<Atom> outputs, builder.add(std::move(call)));
    return std::move(builder).finish(std::move(outputs));
}

}  // namespace yolk::hyper
