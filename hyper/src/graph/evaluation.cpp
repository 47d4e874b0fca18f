// SPDX-License-Identifier: Apache-2.0
#include "evaluation.hpp"

#include <fmt/format.h>

#include "article.hpp"
#include "equations.hpp"

namespace yolk::hyper {
namespace {

Result<void> bind_value(const Graph& graph, VariableId id, const Value& given_value, const std::string& what,
                        KnownValues& values) {
    if (id.value >= graph.variables.size()) {
        return bad_input("Graph '{}': {} is variable {}, but there are {}.", graph.name, what, id.value,
                         graph.variables.size());
    }
    const ValueType& wanted = graph.variables[id.value].type;
    auto value = conformed(given_value, wanted);
    if (!value) return std::move(value).error().while_doing(fmt::format("taking {} of graph '{}'", what, graph.name));
    if (const ValueType given = type_of(*value); given != wanted) {
        return bad_input("Graph '{}': {} is {}, but {} was traced; trace the graph again for it.", graph.name, what,
                         with_article(given), with_article(wanted));
    }
    values[id.value] = *std::move(value);
    return {};
}

Result<void> check_count(const Graph& graph, const char* what, std::size_t given, std::size_t wanted) {
    if (given == wanted) return {};
    return bad_input("Graph '{}' has {} {}, but {} were given; give them in its order.", graph.name, wanted, what,
                     given);
}

/// Error: a variable that is not known yet, or not in the graph.
Result<std::vector<Value>> read_atoms(std::span<const Atom> atoms, const KnownValues& values) {
    std::vector<Value> read;
    read.reserve(atoms.size());
    for (const Atom& atom : atoms) {
        if (const Value* literal = std::get_if<Value>(&atom)) {
            read.push_back(*literal);
            continue;
        }
        const VariableId id = std::get<VariableId>(atom);
        if (id.value >= values.size() || !values[id.value].has_value()) {
            return bad_input("It reads variable {}, which is not defined there; hold the graph against validate().",
                             id.value);
        }
        read.push_back(*values[id.value]);
    }
    return read;
}

}  // namespace

std::string describe(const Graph& graph, std::size_t equation) {
    const Equation& of = graph.equations[equation];
    std::string text =
        fmt::format("equation {}, {}", equation, of.operation == nullptr ? "no operation" : shown_name(of));
    const std::string line = line_of(of);
    if (!of.hyperfunction.empty()) {
        return text + fmt::format(" of hyperfunction '{}' (call {}{})", of.hyperfunction, of.call,
                                  line.empty() ? line : ", " + line);
    }
    if (of.host != nullptr)
        text += fmt::format(" of {} '{}'", of.host->model != nullptr ? "model" : "host function", of.host->name);
    return line.empty() ? text : text + " (" + line + ")";
}

Result<KnownValues> bind_arguments(const Graph& graph, const GraphArguments& arguments) {
    YOLK_TRY_VOID(check_count(graph, "inputs", arguments.inputs.size(), graph.inputs.size()));
    YOLK_TRY_VOID(check_count(graph, "parameters", arguments.parameters.size(), graph.parameters.size()));
    KnownValues values(graph.variables.size());
    for (std::size_t i = 0; i < graph.inputs.size(); ++i) {
        const auto& [key, id] = graph.inputs[i];
        YOLK_TRY_VOID(bind_value(graph, id, arguments.inputs[i], fmt::format("input '{}'", key), values));
    }
    for (std::size_t i = 0; i < graph.parameters.size(); ++i) {
        const GraphParameter& parameter = graph.parameters[i];
        YOLK_TRY_VOID(bind_value(graph, parameter.variable, arguments.parameters[i],
                                 fmt::format("parameter '{}'", parameter.group), values));
    }
    return values;
}

Result<std::vector<Value>> read_operands(const Graph& graph, std::size_t equation, const KnownValues& values) {
    Result<std::vector<Value>> operands = read_atoms(graph.equations[equation].operands, values);
    if (!operands) return std::move(operands).error().while_doing(describe(graph, equation));
    return operands;
}

Result<std::vector<Value>> read_outputs(const Graph& graph, const KnownValues& values) {
    Result<std::vector<Value>> outputs = read_atoms(graph.outputs, values);
    if (!outputs) return std::move(outputs).error().while_doing("reading the outputs of graph '" + graph.name + "'");
    return outputs;
}

Result<std::vector<Value>> evaluate_at(const Graph& graph, std::size_t equation, std::span<const Value> operands) {
    Result<std::vector<Value>> results = evaluate_equation(graph.equations[equation], operands);
    if (!results) return std::move(results).error().while_doing(describe(graph, equation));
    return results;
}

Result<void> check_results(const Graph& graph, std::size_t equation, std::span<Value> results) {
    const std::vector<VariableId>& ids = graph.equations[equation].results;
    std::string problem;
    if (results.size() != ids.size())
        problem = fmt::format("{} results came back, but the graph names {}.", results.size(), ids.size());
    for (std::size_t i = 0; i < results.size() && problem.empty(); ++i) {
        if (ids[i].value >= graph.variables.size()) continue;
        const ValueType& wanted = graph.variables[ids[i].value].type;
        auto fitting = conformed(results[i], wanted);
        if (!fitting) return std::move(fitting).error().while_doing(describe(graph, equation));
        results[i] = *std::move(fitting);
        if (const ValueType given = type_of(results[i]); given != wanted) {
            problem = fmt::format(
                "{} came back where {} was traced; a function must keep its type and shape, whatever its "
                "parameters are.",
                with_article(given), with_article(wanted));
        }
    }
    if (problem.empty()) return {};
    return bad_input(std::move(problem)).while_doing(describe(graph, equation));
}

Result<void> store_results(const Graph& graph, std::size_t equation, std::vector<Value> results, KnownValues& values) {
    const Equation& of = graph.equations[equation];
    YOLK_TRY_VOID(check_results(graph, equation, results));
    for (std::size_t i = 0; i < results.size(); ++i) {
        const VariableId id = of.results[i];
        if (id.value >= values.size() || values[id.value].has_value()) {
            return bad_input(
                "While {}: its result {} is variable {}, which does not exist or is defined elsewhere; hold the graph "
                "against validate().",
                describe(graph, equation), i, id.value);
        }
    }
    for (std::size_t i = 0; i < results.size(); ++i) values[of.results[i].value] = std::move(results[i]);
    return {};
}

}  // namespace yolk::hyper
