// SPDX-License-Identifier: Apache-2.0
// Values by name: checkpoints that are given out or replaced, inputs that are fixed, and what follows from literals.
#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "article.hpp"
#include "graph_copy.hpp"
#include "yolk/graph.hpp"
#include "yolk/internal/hyper/executor.hpp"
#include "yolk/internal/hyper/operations.hpp"

namespace yolk::hyper {
namespace {

bool is_of(const Equation& equation, const std::string& collection) {
    return is(equation, "checkpoint") && text_attribute(equation, "collection").value_or("") == collection;
}

bool holds_any(const Equation& equation, const std::string& collection) {
    return std::ranges::any_of(equation.bodies, [&](const Body& body) {
        return std::ranges::any_of(body->equations, [&](const Equation& inner) {
            return is_of(inner, collection) || holds_any(inner, collection);
        });
    });
}

/// The graph with its calls unfolded, so that their checkpoints stand in it.
Result<Graph> unfolded(const Graph& graph, const std::string& collection, std::string_view transform) {
    YOLK_TRY(Graph flat, inline_calls(graph));  // checks it
    for (const Equation& equation : flat.equations) {
        if (!holds_any(equation, collection)) continue;
        return unsupported(
            "{} of graph '{}': {} has a checkpoint of collection '{}' in a body, which may run any number "
            "of times; let the body return the value, and put the checkpoint outside.",
            transform, graph.name, named(equation), collection);
    }
    return flat;
}

/// "input 'x'", "parameter group 'w'"; empty for what an equation makes.
std::string source_named(const Graph& graph, VariableId id) {
    for (const auto& [name, input] : graph.inputs) {
        if (input == id) return fmt::format("input '{}'", name);
    }
    for (const auto& [parameter, group] : graph.parameters) {
        if (parameter == id) return fmt::format("parameter group '{}'", group);
    }
    return {};
}

/// Why a variable of a folded graph is not known: "operation add (model.cpp:12) reads input 'x'".
std::string what_is_dynamic(const Graph& graph, VariableId id) {
    if (const std::string source = source_named(graph, id); !source.empty()) return "it is " + source;
    std::vector<const Equation*> makers(graph.variables.size(), nullptr);
    for (const Equation& equation : graph.equations) {
        for (const VariableId result : equation.results) makers[result.value] = &equation;
    }
    for (const Equation* maker = makers[id.value];; maker = makers[id.value]) {
        const auto reads = std::ranges::find_if(
            maker->operands, [](const Atom& operand) { return std::holds_alternative<VariableId>(operand); });
        if (reads == maker->operands.end()) return fmt::format("{} has effects", named(*maker));
        id = std::get<VariableId>(*reads);
        if (makers[id.value] == nullptr) return fmt::format("{} reads {}", named(*maker), source_named(graph, id));
    }
}

}  // namespace

Result<Collected> collect(const Graph& graph, const std::string& collection) {
    Collected collected;
    YOLK_TRY(collected.graph, unfolded(graph, collection, "collect"));
    for (const Equation& equation : collected.graph.equations) {
        if (!is_of(equation, collection)) continue;
        YOLK_TRY(std::string key, text_attribute(equation, "key"));
        if (!collected.graph.output_names.empty()) collected.graph.output_names.push_back(key);
        collected.keys.push_back(std::move(key));
        collected.graph.outputs.emplace_back(equation.results[0]);
    }
    return collected;
}

Result<Graph> inject(const Graph& graph, const std::string& collection,
                     std::span<const std::pair<std::string, Value>> values) {
    YOLK_TRY(const Graph flat, unfolded(graph, collection, "inject"));
    std::vector<bool> used(values.size(), false);
    GraphBuilder builder(flat.name);
    Mapping mapping(flat);
    copy_interface(flat, builder, mapping);
    for (const Equation& equation : flat.equations) {
        YOLK_TRY_VOID(copy_equation(flat, equation, mapping, builder));
        if (!is_of(equation, collection)) continue;
        YOLK_TRY(const std::string key, text_attribute(equation, "key"));
        for (std::size_t i = 0; i < values.size(); ++i) {
            if (used[i] || values[i].first != key) continue;
            const ValueType& wanted = flat.variables[equation.results[0].value].type;
            auto value = conformed(values[i].second, wanted);
            if (!value) {
                return std::move(value).error().while_doing(
                    fmt::format("injecting '{}' into graph '{}'", key, graph.name));
            }
            if (const ValueType given = type_of(*value); given != wanted) {
                return bad_input("inject into graph '{}': {} for the checkpoint '{}', which is {}.", graph.name,
                                 with_article(given), key, with_article(wanted));
            }
            used[i] = true;
            mapping.set(equation.results[0], *std::move(value));
            break;
        }
    }
    for (std::size_t i = 0; i < values.size(); ++i) {
        if (used[i]) continue;
        return bad_input("inject into graph '{}': there is no checkpoint '{}' of collection '{}' for value {}.",
                         graph.name, values[i].first, collection, i);
    }
    return std::move(builder).finish(mapping(flat.outputs), flat.output_names);
}

Result<Graph> with_static_inputs(const Graph& graph, std::span<const std::pair<std::string, Value>> values) {
    YOLK_TRY_VOID(validate(graph));
    Graph rest = graph;
    Mapping mapping(graph);
    for (const auto& [name, value] : values) {
        const auto found = std::ranges::find_if(rest.inputs, [&](const auto& input) { return input.first == name; });
        if (found == rest.inputs.end()) {
            return bad_input("Graph '{}' has no input '{}' that could be static.", graph.name, name);
        }
        const ValueType& wanted = graph.variables[found->second.value].type;
        auto fitting = conformed(value, wanted);
        if (!fitting) {
            return std::move(fitting).error().while_doing(
                fmt::format("taking the static input '{}' of graph '{}'", name, graph.name));
        }
        if (const ValueType given = type_of(*fitting); given != wanted) {
            return bad_input("Graph '{}': the static input '{}' is given {}; it is {}.", graph.name, name,
                             with_article(given), with_article(wanted));
        }
        mapping.set(found->second, *std::move(fitting));
        rest.inputs.erase(found);
    }
    GraphBuilder builder(graph.name);
    copy_interface(rest, builder, mapping);
    for (const Equation& equation : graph.equations) YOLK_TRY_VOID(copy_equation(graph, equation, mapping, builder));
    return std::move(builder).finish(mapping(graph.outputs), graph.output_names);
}

Result<Graph> fold(const Graph& graph) {
    YOLK_TRY_VOID(validate(graph));
    GraphBuilder builder(graph.name);
    Mapping mapping(graph);
    copy_interface(graph, builder, mapping);
    for (const Equation& equation : graph.equations) {
        std::vector<Value> literals;
        for (const Atom& operand : mapping(equation.operands)) {
            if (const Value* value = std::get_if<Value>(&operand)) literals.push_back(*value);
        }
        if (literals.size() != equation.operands.size() || has_effects(equation)) {
            YOLK_TRY_VOID(copy_equation(graph, equation, mapping, builder));
            continue;
        }
        auto results = evaluate_equation(equation, literals);
        if (!results) return std::move(results).error().while_doing("folding graph '" + graph.name + "'");
        for (std::size_t i = 0; i < results->size(); ++i) mapping.set(equation.results[i], (*results)[i]);
    }
    return std::move(builder).finish(mapping(graph.outputs), graph.output_names);
}

Result<std::vector<Value>> folded_outputs(const Graph& graph) {
    YOLK_TRY(const Graph folded, fold(graph));
    std::vector<Value> values;
    for (std::size_t i = 0; i < folded.outputs.size(); ++i) {
        if (const Value* value = std::get_if<Value>(&folded.outputs[i])) {
            values.push_back(*value);
            continue;
        }
        return bad_input("fold of graph '{}': output {} is not known before it runs: {}.", graph.name, i,
                         what_is_dynamic(folded, std::get<VariableId>(folded.outputs[i])));
    }
    return values;
}

}  // namespace yolk::hyper
