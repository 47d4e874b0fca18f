// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>

#include "equations.hpp"
#include "graph_copy.hpp"
#include "yolk/models.hpp"

namespace yolk::hyper {

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

ValueType GraphBuilder::type(const Atom& atom) const { return type_of(graph_, atom); }

/// What the field of a record is that a pack made; nothing of other records.
std::optional<Atom> GraphBuilder::unpacked(const Equation& equation) const {
    if (!is(equation, "field") || equation.operands.size() != 1) return std::nullopt;
    const auto* record = std::get_if<VariableId>(&equation.operands[0]);
    const auto pack = record != nullptr ? packs_.find(record->value) : packs_.end();
    const Attribute* name = find_attribute(equation, "name");
    if (pack == packs_.end() || name == nullptr || !std::holds_alternative<std::string>(*name)) return std::nullopt;
    const Equation& packed = graph_.equations[pack->second];
    const auto& names = std::get<std::vector<std::string>>(*find_attribute(packed, "names"));
    const auto found = std::ranges::find(names, std::get<std::string>(*name));
    if (found == names.end()) return std::nullopt;
    return packed.operands[static_cast<std::size_t>(found - names.begin())];
}

Result<std::vector<Atom>> GraphBuilder::add(Equation equation, std::span<const ValueType> host_types) {
    if (equation.operation == nullptr)
        return bad_input("Graph '{}': an equation without an operation was added; give it one of operations().",
                         graph_.name);
    for (const Atom& operand : equation.operands) {
        const auto* id = std::get_if<VariableId>(&operand);
        if (id == nullptr || id->value < graph_.variables.size()) continue;
        return bad_input("Graph '{}': an equation of {} was added that reads variable {}; there are {}.", graph_.name,
                         equation.operation->name, id->value, graph_.variables.size());
    }
    for (const auto& body : equation.bodies) {
        if (body == nullptr)
            return bad_input("Graph '{}': an equation of {} was added with an empty body.", graph_.name,
                             equation.operation->name);
    }
    if (auto known = unpacked(equation)) return std::vector<Atom>{*std::move(known)};
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
    if (equation.hyperfunction.empty() && !equation.made_at) {
        equation.hyperfunction = origin_.hyperfunction;
        equation.call = origin_.call;
        equation.tags = origin_.tags;
        equation.made_at = origin_.made_at;
    }
    if (is(equation, "pack")) packs_.emplace(equation.results[0].value, graph_.equations.size());
    graph_.equations.push_back(std::move(equation));
    return results;
}

void GraphBuilder::stand_for(const Equation& origin) {
    origin_ = {};
    origin_.hyperfunction = origin.hyperfunction;
    origin_.call = origin.call;
    origin_.tags = origin.tags;
    origin_.made_at = origin.made_at;
}

Result<Atom> GraphBuilder::apply(std::string_view operation, std::vector<Atom> operands, Attributes attributes) {
    Equation equation{
        .operation = find_operation(operation), .operands = std::move(operands), .attributes = std::move(attributes)};
    if (equation.operation == nullptr) return bad_input("There is no operation '{}'.", operation);
    YOLK_TRY(const std::vector<Atom> results, add(std::move(equation)));
    if (results.size() != 1) return bad_input("Operation '{}' has {} results.", operation, results.size());
    return results[0];
}

Graph GraphBuilder::finish(std::vector<Atom> outputs, std::vector<std::string> names) && {
    graph_.outputs = std::move(outputs);
    graph_.output_names = std::move(names);
    return std::move(graph_);
}

void copy_interface(const Graph& graph, GraphBuilder& builder, Mapping& mapping) {
    for (const auto& [name, id] : graph.inputs) mapping.set(id, builder.input(name, graph.variables[id.value].type));
    for (const GraphParameter& parameter : graph.parameters)
        mapping.set(parameter.variable,
                    builder.parameter(parameter.group, graph.variables[parameter.variable.value].type));
}

Result<void> copy_equation(const Graph& graph, const Equation& equation, Mapping& mapping, GraphBuilder& builder) {
    Equation copy = equation;
    copy.operands = mapping(equation.operands);
    YOLK_TRY(const std::vector<Atom> results, builder.add(std::move(copy), types_of(graph, equation.results)));
    mapping.set_all(equation.results, results);
    return {};
}

Result<std::vector<Atom>> splice(const Graph& body, std::span<const Atom> inputs, GraphBuilder& builder) {
    Mapping mapping(body);
    for (std::size_t i = 0; i < body.inputs.size(); ++i) mapping.set(body.inputs[i].second, inputs[i]);
    for (const Equation& equation : body.equations) YOLK_TRY_VOID(copy_equation(body, equation, mapping, builder));
    return mapping(body.outputs);
}

std::vector<bool> lists_on_the_way(const Graph& graph) {
    std::vector<bool> lists(graph.variables.size(), false);
    for (const Equation& equation : graph.equations) {
        const bool goes_on = std::ranges::any_of(types_of(graph, equation.results), [](const ValueType& type) {
            return can_move(type) || type.kind == ValueKind::List;
        });
        if (!goes_on) continue;
        for (const Atom& operand : equation.operands) {
            const auto* id = std::get_if<VariableId>(&operand);
            if (id != nullptr && graph.variables[id->value].type.kind == ValueKind::List) lists[id->value] = true;
        }
    }
    return lists;
}

Error list_on_the_way(std::string_view transform, const Graph& graph, const Equation& equation) {
    return unsupported(
        "{} of graph '{}': {} makes a list of what moves, and lists do not move, so that nothing would come of what is "
        "read from it. Pass its items on by themselves, or cut them off with stop_gradient.",
        transform, graph.name, named(equation));
}

bool carries_movement(const Equation& equation, std::size_t operand, const ValueType& type) {
    if (is(equation, "format")) return type.kind == ValueKind::Text;
    if (equation.host == nullptr || equation.host->model == nullptr) return true;
    const std::size_t first = equation.host->model->first_message();
    return operand >= first && operand < first + equation.host->model->roles.size();
}

Result<Tangent> sum_of(GraphBuilder& builder, const Tangent& a, const Tangent& b) {
    if (!a) return b;
    if (!b) return a;
    if (const ValueType type = builder.type(*a); type.kind == ValueKind::Record) {
        std::vector<std::string> names;
        std::vector<Atom> sums;
        for (const auto& [name, field] : type.fields) {
            names.push_back(name);
            sums.emplace_back(zero_of(field));
            if (!can_move(field)) continue;
            YOLK_TRY(Atom first, builder.apply("field", {*a}, {{"name", name}}));
            YOLK_TRY(Atom second, builder.apply("field", {*b}, {{"name", name}}));
            YOLK_TRY(const Tangent sum, sum_of(builder, first, second));
            sums.back() = or_zero(sum, field);
        }
        YOLK_TRY(Atom packed, builder.apply("pack", std::move(sums), {{"names", std::move(names)}}));
        return Tangent(std::move(packed));
    }
    if (builder.type(*a).kind == ValueKind::Text) {
        YOLK_TRY(Atom both, builder.apply("concat", {*a, *b}, {{"dimension", std::int64_t{0}}}));
        return Tangent(std::move(both));
    }
    YOLK_TRY(Atom sum, builder.apply("add", {*a, *b}));
    return Tangent(std::move(sum));
}

Result<Tangent> sum_back(GraphBuilder& builder, const Tangent& later, const Tangent& earlier) {
    const bool in_order = later && has_text(builder.type(*later));
    return in_order ? sum_of(builder, earlier, later) : sum_of(builder, later, earlier);
}

std::string named(const Equation& equation) {
    std::string text = fmt::format("operation {}", shown_name(equation));
    const std::string line = line_of(equation);
    if (!equation.hyperfunction.empty()) {
        return text + fmt::format(" of hyperfunction '{}' (call {}{})", equation.hyperfunction, equation.call,
                                  line.empty() ? line : ", " + line);
    }
    if (equation.host != nullptr) {
        const std::string_view kind = equation.host->model != nullptr ? "model" : "host function";
        text += fmt::format(" of {} '{}'", kind, equation.host->name);
    }
    return line.empty() ? text : text + " (" + line + ")";
}

Error no_rule(std::string_view transform, const Graph& graph, const Equation& equation, std::string_view advice) {
    return unsupported("{} of graph '{}': {} has no rule; {}.", transform, graph.name, named(equation), advice);
}

}  // namespace yolk::hyper
