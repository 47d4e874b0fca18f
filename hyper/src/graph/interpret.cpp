// SPDX-License-Identifier: Apache-2.0
#include "interpret.hpp"

#include <fmt/format.h>

#include "yolk/hyper/operations.hpp"

namespace yolk::hyper {
namespace {

Value value_of(const Atom& atom, const std::vector<Value>& values) {
    const Value* literal = std::get_if<Value>(&atom);
    return literal != nullptr ? *literal : values[std::get<VariableId>(atom).value];
}

Result<void> assign(const Graph& graph, VariableId id, Value value, std::vector<Value>& values, std::string_view what) {
    const ValueType& wanted = graph.variables[id.value].type;
    if (type_of(value) != wanted) {
        return bad_input(fmt::format("Graph '{}': {} is {}; it was traced as {}.", graph.name, what,
                                     to_string(type_of(value)), to_string(wanted)));
    }
    values[id.value] = std::move(value);
    return {};
}

Result<void> run(const Graph& graph, const Equation& equation, std::vector<Value>& values) {
    std::vector<Value> operands;
    for (const Atom& operand : equation.operands) operands.push_back(value_of(operand, values));
    YOLK_TRY(std::vector<Value> results, evaluate_equation(equation, operands));
    if (results.size() != equation.results.size()) {
        return bad_input(fmt::format("Graph '{}': {} gave {} results in place of {}.", graph.name,
                                     equation.operation->name, results.size(), equation.results.size()));
    }
    const std::string what = equation.host != nullptr ? fmt::format("the result of '{}'", equation.host->name)
                                                      : fmt::format("a result of {}", equation.operation->name);
    for (std::size_t i = 0; i < results.size(); ++i)
        YOLK_TRY_VOID(assign(graph, equation.results[i], std::move(results[i]), values, what));
    return {};
}

}  // namespace

Result<std::vector<Value>> interpret(const Graph& graph, std::span<const Value> inputs,
                                     std::span<const Tensor> parameters) {
    if (inputs.size() != graph.inputs.size() || parameters.size() != graph.parameters.size()) {
        return bad_input(fmt::format("Graph '{}' takes {} inputs and {} parameter groups; {} and {} were given.",
                                     graph.name, graph.inputs.size(), graph.parameters.size(), inputs.size(),
                                     parameters.size()));
    }
    std::vector<Value> values(graph.variables.size());
    for (std::size_t i = 0; i < inputs.size(); ++i) {
        const auto& [name, id] = graph.inputs[i];
        YOLK_TRY_VOID(assign(graph, id, inputs[i], values, fmt::format("input '{}'", name)));
    }
    for (std::size_t i = 0; i < parameters.size(); ++i) {
        const GraphParameter& parameter = graph.parameters[i];
        YOLK_TRY_VOID(
            assign(graph, parameter.variable, parameters[i], values, fmt::format("group '{}'", parameter.group)));
    }
    for (const Equation& equation : graph.equations) YOLK_TRY_VOID(run(graph, equation, values));
    std::vector<Value> outputs;
    for (const Atom& output : graph.outputs) outputs.push_back(value_of(output, values));
    return outputs;
}

}  // namespace yolk::hyper
