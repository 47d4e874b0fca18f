// SPDX-License-Identifier: Apache-2.0
#include "unrolled_examples.hpp"
#include "valid_graph.hpp"

#include <algorithm>
#include <utility>

#include "caught.hpp"
#include "evaluation.hpp"
#include "graph_queries.hpp"
#include "refresh.hpp"
#include "requirement.hpp"

namespace yolk::hyper::population {
namespace {

std::vector<Value> literals_of(const Graph& graph) {
    std::vector<Value> literals;
    const auto collect = [&](std::span<const Atom> atoms) {
        for (const Atom& atom : atoms) {
            if (const Value* literal = std::get_if<Value>(&atom)) literals.push_back(*literal);
        }
    };
    for (const Equation& equation : graph.equations) collect(equation.operands);
    collect(graph.outputs);
    return literals;
}

/// The branch that the key in the trace picks.
std::optional<std::size_t> branch_of(const TracedExample& example, std::size_t equation) {
    const double key = traced_value(view_of(example), {equation, 0}).as_number().value_or(-1.0);
    const std::size_t count = example.graph.equations[equation].bodies.size();
    if (!is_met(key, static_cast<std::int64_t>(count))) return {};
    return static_cast<std::size_t>(key);
}

/// What was made, and what depended on a searched group only because a loop before it did.
std::vector<std::size_t> to_evaluate(const Graph& original, const Unrolled& form, std::span<const std::string> groups) {
    const std::vector<bool> before = dependents_of(original, groups), now = dependents_of(form.graph, groups);
    std::vector<std::size_t> all = form.made;
    for (std::size_t i = 0; i < form.graph.equations.size(); ++i) {
        const Equation& equation = form.graph.equations[i];
        if (equation.results.empty() || has_effects(equation) || now[equation.results[0].value]) continue;
        const std::vector<VariableId>& copied = original.equations[form.makers[i]].results;
        if (!copied.empty() && before[copied[0].value]) all.push_back(i);
    }
    std::ranges::sort(all);
    all.erase(std::ranges::unique(all).begin(), all.end());
    return all;
}

/// What candidates may vary, as a search does it: the decision is made once, before the candidates are known.
std::vector<Source> possible_sources(const Graph& graph, const ParameterSet& parameters) {
    std::vector<Source> sources;
    for (const GraphParameter& parameter : graph.parameters) {
        const ParameterGroup* group = parameters.find(parameter.group);
        if (group == nullptr) continue;
        const bool searched = group->spec.optimize && !group->spec.is_text;
        sources.push_back({.spec = group->spec, .kind = searched ? SourceKind::Perturbed : SourceKind::Given});
    }
    return sources;
}

}  // namespace

std::vector<ExampleView> UnrolledExamples::views_of(std::span<const std::shared_ptr<Owned>> owned) {
    std::vector<ExampleView> views;
    for (const auto& example : owned) views.push_back({example->graph.get(), &example->values});
    return views;
}

bool UnrolledExamples::needs(const std::string& group) const {
    return !owned_.empty() && std::ranges::find(varying_, group) != varying_.end();
}

UnrolledExamples UnrolledExamples::create(std::span<const TracedExample* const> originals,
                                          const ParameterSet& parameters, bool examples_change,
                                          const UnrollOptions& options) {
    UnrolledExamples made;
    made.options_ = options;
    const Graph& graph = originals.front()->graph;
    if (!may_unroll(graph)) return made;
    for (const GraphParameter& parameter : graph.parameters) {
        const ParameterGroup* group = parameters.find(parameter.group);
        if (group != nullptr && group->spec.optimize && !group->spec.is_text) made.varying_.push_back(parameter.group);
    }
    if (!examples_change) made.choose_branches(originals);
    while (!made.try_once(originals, parameters, examples_change)) made.owned_.clear();
    made.rolled_ = made.owned_.empty() ? made.of_original_ : rolled_in(made.form_, made.of_original_);
    return made;
}

void UnrolledExamples::choose_branches(std::span<const TracedExample* const> originals) {
    const Graph& graph = originals.front()->graph;
    const std::vector<bool> varies = dependents_of(graph);
    for (std::size_t i = 0; i < graph.equations.size(); ++i) {
        if (!is(graph.equations[i], "switch")) continue;
        const auto* key = std::get_if<VariableId>(&graph.equations[i].operands[0]);
        if (key != nullptr && varies[key->value]) continue;
        const std::optional<std::size_t> first = branch_of(*originals.front(), i);
        const auto is_first = [&](const TracedExample* example) { return branch_of(*example, i) == first; };
        if (first && std::ranges::all_of(originals, is_first)) options_.taken.emplace(i, *first);
    }
}

/// False: more has to stay rolled than before.
bool UnrolledExamples::try_once(std::span<const TracedExample* const> originals, const ParameterSet& parameters,
                                bool examples_change) {
    form_ = unroll(originals.front()->graph, of_original_, options_);
    if (!form_.changed) return true;
    depends_ = dependents_of(form_.graph, varying_);
    evaluated_ = to_evaluate(originals.front()->graph, form_, varying_);
    const Result<std::vector<ExampleView>> views = take(originals);
    if (!views) {
        // Data that only branches read which are not taken, or steps that do not run.
        for (const std::size_t made : form_.made) of_original_.try_emplace(form_.makers[made], views.error().message);
        return false;
    }
    commit();
    ExampleGroup group{.examples = *views, .indices = {}, .uniform = uniformity_of(*views, examples_change)};
    const PlacedGraph placed = place_group(group, possible_sources(form_.graph, parameters));
    return !add_those_on_host(form_, placed, of_original_);
}

Result<std::vector<ExampleView>> UnrolledExamples::take(std::span<const TracedExample* const> originals) {
    taken_.clear();
    for (std::size_t e = 0; e < originals.size(); ++e) {
        for (const auto& [equation, branch] : options_.taken) {
            if (branch_of(*originals[e], equation) == branch) continue;
            return bad_input("The new examples take another branch of a switch than those that plans were made for.");
        }
        auto own = std::make_shared<Owned>();
        own->literals = literals_of(originals[e]->graph);
        const auto has_same = [&](const std::shared_ptr<Owned>& other) { return other->literals == own->literals; };
        if (e < owned_.size() && has_same(owned_[e])) own->graph = owned_[e]->graph;
        if (own->graph == nullptr && !taken_.empty() && has_same(taken_.front())) own->graph = taken_.front()->graph;
        if (own->graph == nullptr) {
            Rolled rolled = of_original_;
            own->graph = std::make_shared<const Graph>(unroll(originals[e]->graph, rolled, options_).graph);
            if (own->graph->equations.size() != form_.graph.equations.size() ||
                own->graph->variables.size() != form_.graph.variables.size()) {
                return bad_input("Examples of one structure differ where loops are unrolled.");
            }
        }
        YOLK_TRY_VOID(fill(*originals[e], *own));
        taken_.push_back(std::move(own));
    }
    return views_of(taken_);
}

Result<void> UnrolledExamples::fill(const TracedExample& original, Owned& to) const {
    const Graph& graph = *to.graph;
    to.values.assign(graph.variables.size(), Value());
    for (std::size_t i = 0; i < form_.copies.size(); ++i) {
        if (form_.copies[i]) to.values[form_.copies[i]->value] = original.values[i];
    }
    const ExampleView view{&graph, &to.values};
    for (const std::size_t made : evaluated_) {
        const Equation& equation = graph.equations[made];
        if (std::ranges::any_of(equation.results, [&](VariableId id) { return depends_[id.value]; })) continue;
        std::vector<Value> operands;
        bool known = true;  // traces may leave out what depends on a parameter
        for (std::size_t i = 0; i < equation.operands.size(); ++i) {
            operands.push_back(traced_value(view, {made, i}));
            known = known && type_of(operands.back()) == type_of(graph, equation.operands[i]);
        }
        if (!known) continue;
        auto results =
            caught([&] { return describe(graph, made); }, [&] { return evaluate_at(graph, made, operands); });
        if (!results) return std::move(results).error();
        YOLK_TRY_VOID(check_results(graph, made, *results));
        for (std::size_t i = 0; i < results->size(); ++i)
            to.values[equation.results[i].value] = std::move((*results)[i]);
    }
    return check_ids(view);
}

}  // namespace yolk::hyper::population
