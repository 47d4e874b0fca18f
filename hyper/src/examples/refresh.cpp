// SPDX-License-Identifier: Apache-2.0
#include "refresh.hpp"
#include "article.hpp"
#include "valid_graph.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <string_view>
#include <utility>

#include "caught.hpp"
#include "evaluation.hpp"
#include "example_view.hpp"
#include "graph_queries.hpp"
#include "operation_lists.hpp"
#include "yolk/internal/core/printable.hpp"

namespace yolk::hyper::population {
namespace {

/// The inputs in their variables. Errors name the key.
Result<void> take_inputs(TracedExample& example, const std::map<std::string, Value>& inputs) {
    const Graph& graph = example.graph;
    for (const auto& [key, id] : graph.inputs) {
        const auto found = inputs.find(key);
        if (found == inputs.end())
            return bad_input("Graph '{}' has the input '{}', which was not given; give all it was traced with.",
                             shown(graph.name), shown(key));
        const ValueType& wanted = graph.variables[id.value].type;
        auto value = conformed(found->second, wanted);
        if (!value) return std::move(value).error().while_doing(fmt::format("reading input '{}'", shown(key)));
        const ValueType given = type_of(*value);
        if (given != wanted) {
            return bad_input("Input '{}' is {}, but {} was traced; trace the graph again for it.", shown(key),
                             with_article(given), with_article(wanted));
        }
        example.values[id.value] = *std::move(value);
    }
    if (inputs.size() == graph.inputs.size()) return {};
    return bad_input("{} inputs were given for graph '{}', which has {}; give those it was traced with.", inputs.size(),
                     shown(graph.name), graph.inputs.size());
}

Result<void> evaluate_again(TracedExample& example, std::size_t index) {
    const Graph& graph = example.graph;
    const Equation& equation = graph.equations[index];
    std::vector<Value> operands;
    for (std::size_t i = 0; i < equation.operands.size(); ++i)
        operands.push_back(traced_value(view_of(example), {index, i}));
    auto results = caught([&] { return describe(graph, index); }, [&] { return evaluate_at(graph, index, operands); });
    if (!results) return std::move(results).error();
    YOLK_TRY_VOID(check_results(graph, index, *results));
    for (std::size_t i = 0; i < results->size(); ++i)
        example.values[equation.results[i].value] = std::move((*results)[i]);
    return {};
}

}  // namespace

bool takes_ids(const Equation& equation) {
    const std::string_view name = equation.operation->name;
    return name == "gather" || name == "scatter" || name == "scatter_add" || name == "embedding";
}

bool reads_any(const Equation& equation, const std::vector<bool>& variables) {
    return std::ranges::any_of(equation.operands, [&](const Atom& atom) {
        const auto* id = std::get_if<VariableId>(&atom);
        return id != nullptr && variables[id->value];
    });
}

Result<void> check_ids(const ExampleView& example) {
    const Graph& graph = *example.graph;
    const std::vector<bool> varies = dependents_of(graph);
    for (std::size_t i = 0; i < graph.equations.size(); ++i) {
        const Equation& equation = graph.equations[i];
        if (!takes_ids(equation)) continue;
        const auto* id = std::get_if<VariableId>(&equation.operands[1]);
        if (id != nullptr && varies[id->value]) continue;
        const auto* table = std::get_if<VariableId>(&equation.operands[0]);
        const Shape shape = table != nullptr ? graph.variables[table->value].type.shape
                                             : type_of(std::get<Value>(equation.operands[0])).shape;
        YOLK_TRY(const std::size_t dimension,
                 equation.operation->name == "embedding" ? Result<std::size_t>(0) : dimension_of(equation, shape));
        auto checked = ids_of(equation, *traced_value(example, {i, 1}).tensor(), shape, dimension);
        if (!checked) return std::move(checked).error().while_doing(describe(graph, i));
    }
    return {};
}

bool is_refreshable(const TracedExample& example) {
    return example.notes.empty() && std::ranges::none_of(example.graph.equations, [](const Equation& equation) {
               return equation.host != nullptr || has_effects(equation);
           });
}

std::string types_of(const std::map<std::string, Value>& inputs) {
    std::string types;
    for (const auto& [key, value] : inputs)
        types += fmt::format("{}:{} {}\n", key.size(), key, to_string(type_of(value)));
    return types;
}

Result<void> refresh(TracedExample& example, const std::map<std::string, Value>& inputs,
                     std::optional<std::span<const std::string>> varying) {
    YOLK_TRY_VOID(validate(example.graph));
    if (example.values.size() != example.graph.variables.size())
        return bad_input("The trace of graph '{}' has {} values for {} variables; each variable has one.",
                         shown(example.graph.name), example.values.size(), example.graph.variables.size());
    return refresh_valid(example, inputs, varying);
}

namespace {

/// `reads_new`: whether an equation that does not vary is evaluated again; called in their order.
template <class ReadsNew>
Result<void> renew(TracedExample& example, const std::map<std::string, Value>& inputs,
                   std::optional<std::span<const std::string>> varying, ReadsNew&& reads_new) {
    if (!example.notes.empty()) {
        return bad_input(
            "The trace of graph '{}' read values past the tracer, so its equations may hold what an input was: {} "
            "Trace "
            "it again for other inputs.",
            shown(example.graph.name), example.notes.front());
    }
    TracedExample fresh{.graph = std::move(example.graph), .values = example.values};
    const auto evaluate = [&]() -> Result<void> {
        YOLK_TRY_VOID(take_inputs(fresh, inputs));
        const std::vector<bool> varies = dependents_of(fresh.graph, varying);
        for (std::size_t i = 0; i < fresh.graph.equations.size(); ++i) {
            const Equation& equation = fresh.graph.equations[i];
            if (!reads_any(equation, varies) && reads_new(fresh, equation)) YOLK_TRY_VOID(evaluate_again(fresh, i));
        }
        return check_ids(view_of(fresh));
    };
    Result<void> done = evaluate();
    example.graph = std::move(fresh.graph);
    if (done) example.values = std::move(fresh.values);
    return done;
}

}  // namespace

Result<void> refresh_valid(TracedExample& example, const std::map<std::string, Value>& inputs,
                           std::optional<std::span<const std::string>> varying) {
    return renew(example, inputs, varying, [](const TracedExample&, const Equation&) { return true; });
}

Result<void> refresh_changed(TracedExample& example, const std::map<std::string, Value>& inputs) {
    std::vector<bool> changed;
    const auto reads_new = [&](const TracedExample& fresh, const Equation& equation) {
        if (changed.empty()) {
            changed.assign(fresh.values.size(), false);
            for (const auto& [key, id] : fresh.graph.inputs)
                changed[id.value] = !(fresh.values[id.value] == example.values[id.value]);
        }
        if (equation.host == nullptr && !has_effects(equation) && !reads_any(equation, changed)) return false;
        for (const VariableId result : equation.results) changed[result.value] = true;
        return true;
    };
    return renew(example, inputs, std::nullopt, reads_new);
}

}  // namespace yolk::hyper::population
