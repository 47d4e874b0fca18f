// SPDX-License-Identifier: Apache-2.0
#include "placement.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <string>
#include <utility>

#include "article.hpp"
#include "equations.hpp"
#include "graph_queries.hpp"
#include "lowering_rules.hpp"
#include "requirement.hpp"
#include "valid_graph.hpp"

namespace yolk::hyper::population {

std::uint64_t element_count(const ValueType& type) {
    if (type.kind != ValueKind::Tensor) return 1;
    return type.shape.element_count().value_or(0);
}

namespace {

Operand operand_at(const Graph& graph, const PlacedGraph& placed, const AtomPlace& place, const IsUniform& is_uniform) {
    Operand operand{.place = place};
    const Atom& atom = atom_at(graph, place);
    if (const auto* variable = std::get_if<VariableId>(&atom)) {
        operand.variable = variable;
        operand.type = graph.variables[variable->value].type;
        operand.traits = placed.variables[variable->value];
    } else {
        operand.type = type_of(std::get<Value>(atom));
    }
    if (!operand.traits.varies) operand.traits.per_example = !is_uniform(place);
    return operand;
}

std::string reason_with_bodies(const Equation& equation, const std::string* why) {
    return fmt::format("{} calls its bodies there, for each candidate and example{}{}", equation.operation->name,
                       why != nullptr ? ": " : "", why != nullptr ? *why : "");
}

std::string reason_for_host(const Graph& graph, const Equation& equation, std::span<const Operand> operands,
                            std::span<const Source> sources) {
    if (equation.host) return "host function";
    if (is_requirement(equation)) return {};
    const Rule* rule = rule_of(equation.operation);
    if (rule == nullptr) return fmt::format("{} has no kernel", equation.operation->name);
    for (const VariableId id : equation.results) {
        const ValueType& type = graph.variables[id.value].type;
        if (type.kind != ValueKind::Tensor)
            return fmt::format("{} of {} {} has no kernel", equation.operation->name,
                               type.kind == ValueKind::Integer ? "an" : "a", to_string(type.kind));
        if (element_count(type) == 0) return fmt::format("{} gives no element", equation.operation->name);
    }
    for (const Operand& operand : operands) {
        const ValueKind kind = operand.type.kind;
        if (kind != ValueKind::Tensor && kind != ValueKind::Number && kind != ValueKind::Integer)
            return fmt::format("{} of {} has no kernel", equation.operation->name, with_article(kind));
        if (element_count(operand.type) == 0) return fmt::format("{} of no element", equation.operation->name);
        if (operand.traits.words && !rule->takes_words && operand.traits.below > kMostNumbers)
            return fmt::format("{} of indices up to {} has no kernel", equation.operation->name, operand.traits.below);
    }
    return rule->refuses(equation, operands, sources);
}

/// Traits of what a kernel found or moved as uint32.
void note_words(const Equation& equation, const Operand& first, Traits& traits) {
    if (is_requirement(equation)) return;
    const Rule& rule = *rule_of(equation.operation);
    if (rule.gives_words) {
        const Shape& shape = first.type.shape;
        traits.words = true;
        traits.below = static_cast<std::uint32_t>(shape[dimension_or_last(equation, shape).value_or(0)]);
    } else if (rule.keeps_words) {
        traits.words = first.traits.words;
        traits.below = first.traits.below;
    }
}

}  // namespace

std::vector<Operand> operands_of(const Graph& graph, const PlacedGraph& placed, std::size_t equation,
                                 const IsUniform& is_uniform) {
    std::vector<Operand> operands;
    for (std::size_t i = 0; i < graph.equations[equation].operands.size(); ++i)
        operands.push_back(operand_at(graph, placed, {equation, i}, is_uniform));
    return operands;
}

PlacedGraph place_graph(const Graph& graph, std::span<const Source> sources, const IsUniform& is_uniform,
                        const Rolled& rolled) {
    PlacedGraph placed{std::vector<PlacedEquation>(graph.equations.size()),
                       std::vector<Traits>(graph.variables.size())};
    for (const GraphParameter& parameter : graph.parameters) {
        for (std::size_t s = 0; s < sources.size(); ++s) {
            if (sources[s].spec.name != parameter.group) continue;
            placed.variables[parameter.variable.value] = {
                .varies = true, .per_example = false, .source = static_cast<std::int32_t>(s)};
        }
    }
    for (std::size_t i = 0; i < graph.equations.size(); ++i) {
        const Equation& equation = graph.equations[i];
        const std::vector<Operand> operands = operands_of(graph, placed, i, is_uniform);
        if (std::ranges::none_of(operands, [](const Operand& o) { return o.traits.varies; })) continue;  // data
        const auto why = rolled.find(i);
        std::string reason = equation.bodies.empty()
                                 ? reason_for_host(graph, equation, operands, sources)
                                 : reason_with_bodies(equation, why != rolled.end() ? &why->second : nullptr);
        const bool device = reason.empty();
        placed.equations[i] = {device ? Placement::Device : Placement::Host, std::move(reason)};
        // A host function, in a body as well, may have effects, or chance: it is called for each example whatever it
        // is given.
        const bool runs_host = equation.host || (!equation.bodies.empty() && has_effects(equation));
        const bool per_example =
            runs_host || std::ranges::any_of(operands, [](const Operand& o) { return o.traits.per_example; });
        for (const VariableId id : equation.results) {
            placed.variables[id.value] = {.varies = true, .per_example = per_example, .on_device = device};
            if (device) note_words(equation, operands.front(), placed.variables[id.value]);
        }
    }
    return placed;
}

PlacedGraph place_group(const ExampleGroup& group, std::span<const Source> sources) {
    return place_graph(group.graph(), sources, uniform_in(group), group.rolled);
}

bool add_those_on_host(const Unrolled& unrolled, const PlacedGraph& placed, Rolled& rolled) {
    bool added = false;
    for (const std::size_t made : unrolled.made) {
        if (placed.equations[made].placement != Placement::Host) continue;
        added = rolled.try_emplace(unrolled.makers[made], placed.equations[made].reason).second || added;
    }
    return added;
}

namespace {

/// Without looking at values: what depends on an input, or on a host function, which may have chance.
std::vector<bool> may_differ(const Graph& graph) {
    std::vector<bool> differs(graph.variables.size(), false);
    for (const auto& [key, id] : graph.inputs) differs[id.value] = true;
    for (const Equation& equation : graph.equations) {
        const bool any = equation.host != nullptr || std::ranges::any_of(equation.operands, [&](const Atom& atom) {
                             const auto* id = std::get_if<VariableId>(&atom);
                             return id != nullptr && differs[id->value];
                         });
        for (const VariableId id : equation.results) differs[id.value] = any;
    }
    return differs;
}

/// Literals alone; true for variables, which are looked up by themselves.
std::vector<bool> equal_literals(std::span<const ExampleView> examples, std::size_t equation, std::size_t operands) {
    std::vector<bool> equal(operands, true);
    for (std::size_t i = 0; i < operands; ++i) {
        const AtomPlace place{equation, i};
        const Value* first = std::get_if<Value>(&atom_at(*examples.front().graph, place));
        for (const ExampleView& example : examples.subspan(1))
            equal[i] = equal[i] && (first == nullptr || *first == traced_value(example, place));
    }
    return equal;
}

}  // namespace

Uniformity uniformity_of(std::span<const ExampleView> examples, bool examples_change) {
    const Graph& graph = *examples.front().graph;
    const std::vector<Value>& first = *examples.front().values;
    Uniformity uniform;
    uniform.variables.assign(graph.variables.size(), true);
    if (examples_change && examples.size() > 1) {
        uniform.variables = may_differ(graph);
        uniform.variables.flip();
    }
    for (std::size_t v = 0; v < uniform.variables.size(); ++v) {
        if (!uniform.variables[v]) continue;
        uniform.variables[v] = std::ranges::all_of(examples.subspan(1), [&](const ExampleView& example) {
            return first[v] == (*example.values)[v];  // quickly where they share their elements
        });
    }
    for (std::size_t i = 0; i < graph.equations.size(); ++i)
        uniform.literals.push_back(equal_literals(examples, i, graph.equations[i].operands.size()));
    uniform.outputs = equal_literals(examples, kOutputs, graph.outputs.size());
    return uniform;
}

IsUniform uniform_in(const ExampleGroup& group) {
    return [&group](const AtomPlace& place) -> bool {
        if (const auto* variable = std::get_if<VariableId>(&atom_at(group.graph(), place)))
            return group.uniform.variables[variable->value];
        return place.equation == kOutputs ? group.uniform.outputs[place.operand]
                                          : group.uniform.literals[place.equation][place.operand];
    };
}

}  // namespace yolk::hyper::population

namespace yolk::hyper {

namespace {

using namespace population;

/// Without examples: what depends on an input may differ between them.
PlacedGraph place_without_examples(const Graph& graph, std::span<const Source> sources, const Rolled& rolled) {
    std::vector<bool> from_input(graph.variables.size(), false);
    for (const auto& [key, id] : graph.inputs) from_input[id.value] = true;
    for (const Equation& equation : graph.equations) {
        const bool any = std::ranges::any_of(equation.operands, [&](const Atom& atom) {
            const auto* id = std::get_if<VariableId>(&atom);
            return id != nullptr && from_input[id->value];
        });
        for (const VariableId id : equation.results) from_input[id.value] = any;
    }
    const IsUniform is_uniform = [&](const AtomPlace& place) {
        const auto* id = std::get_if<VariableId>(&atom_at(graph, place));
        return id == nullptr || !from_input[id->value];
    };
    return place_graph(graph, sources, is_uniform, rolled);
}

/// Of each equation of the original where its unrolled form runs: on the host where a part of it does.
std::vector<PlacedEquation> placed_by_maker(const Graph& graph, std::span<const std::string> varying_groups,
                                            const Unrolled& unrolled, const PlacedGraph& placed) {
    std::vector<PlacedEquation> result(graph.equations.size());
    const std::vector<bool> varies = dependents_of(graph, varying_groups);
    for (std::size_t i = 0; i < result.size(); ++i) {  // one that is left out, since masks took its place
        const std::vector<VariableId>& results = graph.equations[i].results;
        if (!results.empty() && varies[results.front().value]) result[i].placement = Placement::Device;
    }
    for (std::size_t k = 0; k < placed.equations.size(); ++k) {
        PlacedEquation& to = result[unrolled.makers[k]];
        if (placed.equations[k].placement == Placement::Host && to.placement != Placement::Host)
            to = placed.equations[k];
    }
    return result;
}

}  // namespace

std::vector<PlacedEquation> placed_equations(const Graph& graph, std::span<const std::string> varying_groups) {
    std::vector<Source> sources;
    for (const std::string& name : varying_groups) {
        Source source;
        source.spec.name = name;
        sources.push_back(std::move(source));
    }
    Rolled rolled;
    if (!may_unroll(graph)) return place_without_examples(graph, sources, rolled).equations;
    for (;;) {
        const Unrolled unrolled = unroll(graph, rolled, {});
        if (!unrolled.changed) return place_without_examples(graph, sources, rolled).equations;
        const PlacedGraph placed = place_without_examples(unrolled.graph, sources, rolled_in(unrolled, rolled));
        if (!add_those_on_host(unrolled, placed, rolled))
            return placed_by_maker(graph, varying_groups, unrolled, placed);
    }
}

Result<std::vector<PlacedEquation>> place(const Graph& graph, std::span<const std::string> varying_groups) {
    YOLK_TRY_VOID(validate(graph));
    return placed_equations(graph, varying_groups);
}

}  // namespace yolk::hyper
