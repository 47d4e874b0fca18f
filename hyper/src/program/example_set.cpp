// SPDX-License-Identifier: Apache-2.0
#include "example_set.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <utility>

#include "refresh.hpp"
#include "valid_graph.hpp"

namespace yolk::hyper::population {
namespace {

std::string names_of(const ParameterSet& parameters) {
    std::string names;
    for (const ParameterGroup& group : parameters.groups())
        names += fmt::format("{}'{}'", names.empty() ? "" : ", ", group.spec.name);
    return names.empty() ? "none" : names;
}

Result<void> check_example(const TracedExample& example, std::size_t index, const ParameterSet& parameters) {
    if (example.graph.outputs.empty())
        return bad_input("Example {} has no output: its graph gives nothing to score.", index);
    if (example.values.size() != example.graph.variables.size()) {
        return bad_input("Example {} has {} values for {} variables; each variable needs the value it was traced with.",
                         index, example.values.size(), example.graph.variables.size());
    }
    for (const GraphParameter& parameter : example.graph.parameters) {
        if (parameters.find(parameter.group) != nullptr) continue;
        return bad_input(
            "Example {} uses parameter group '{}', which the set has not. It has {}. Register the hyperfunction.",
            index, parameter.group, names_of(parameters));
    }
    return {};
}

Result<void> check_table(const ParameterTable& table, const ParameterTable& wanted) {
    const auto given = table.parameters();
    const auto expected = wanted.parameters();
    const auto same = [](const ParameterDesc& a, const ParameterDesc& b) {
        return a.name == b.name && a.rows == b.rows && a.columns == b.columns &&
               (a.perturbation == b.perturbation || a.perturbation == Perturbation::Frozen);
    };
    if (std::equal(given.begin(), given.end(), expected.begin(), expected.end(), same)) return {};
    const auto list = [](std::span<const ParameterDesc> descs) {
        std::string text;
        for (const ParameterDesc& d : descs) text += fmt::format(" {} [{}, {}]", d.name, d.rows, d.columns);
        return text.empty() ? std::string(" nothing") : text;
    };
    return bad_input("The table has{}; the set's optimized groups are{}. Take the table of search_space().",
                     list(given), list(expected));
}

Result<void> check(const Perturbations& p, const ParameterSet& parameters) {
    YOLK_TRY(const ParameterTable table, search_table(parameters));
    YOLK_TRY_VOID(check_table(p.table, table));
    if (p.mean.size() != p.table.element_count()) {
        return bad_input("The mean has {} elements; the table has {}.", p.mean.size(), p.table.element_count());
    }
    if (!p.device_mean.empty() && p.device_mean.size_bytes < p.table.size_bytes()) {
        return bad_input("The mean on the device has {} bytes; the table needs {}.", p.device_mean.size_bytes,
                         p.table.size_bytes());
    }
    if (p.rank < 1 || p.rank > kMaxRank)
        return bad_input("Rank {} was given; it must be from 1 to {}.", p.rank, kMaxRank);
    if (p.first_member < -1) return bad_input("The first member is {}; -1 is the mean, 0 the first.", p.first_member);
    return {};
}

bool covers(const std::vector<bool>& now, const std::vector<bool>& before) {
    return std::ranges::equal(now, before, [](bool is, bool was) { return is || !was; });
}
/// All that was the same still is.
bool covers(const Uniformity& now, const Uniformity& before) {
    return covers(now.variables, before.variables) && covers(now.outputs, before.outputs) &&
           std::ranges::equal(now.literals, before.literals,
                              [](const auto& is, const auto& was) { return covers(is, was); });
}

}  // namespace

std::string Question::key() const {
    std::string key = perturbations.antithetic ? "pairs" : "each member its own noise";
    for (const Source& source : sources) {
        key += fmt::format("\n{} {} {} rank {}", source.spec.name, static_cast<int>(source.kind), source.id.value,
                           source.rank);
    }
    return key;
}

Result<ExampleSet> ExampleSet::create(std::span<const TracedExample> traced, const ParameterSet& parameters,
                                      bool examples_change, const UnrollOptions& unrolling) {
    if (traced.empty()) return bad_input("No examples were given; a population is evaluated on at least one.");
    ExampleSet made(parameters);
    std::map<std::string, std::size_t> known;
    for (std::size_t i = 0; i < traced.size(); ++i) {
        const auto [found, is_new] = known.emplace(signature_of(traced[i].graph), made.groups_.size());
        if (is_new) {
            if (auto valid = validate(traced[i].graph); !valid)
                return std::move(valid).error().while_doing(fmt::format("taking example {}", i));
        }
        YOLK_TRY_VOID(check_example(traced[i], i, parameters));
        if (is_new) made.signatures_.push_back(found->first);
        if (is_new) made.groups_.emplace_back();
        if (is_new) made.originals_.emplace_back();
        made.originals_[found->second].push_back(&traced[i]);
        made.groups_[found->second].examples.push_back(view_of(traced[i]));
        made.groups_[found->second].indices.push_back(static_cast<std::uint32_t>(i));
    }
    for (std::size_t g = 0; g < made.groups_.size(); ++g) {
        ExampleGroup& group = made.groups_[g];
        made.unrolled_.push_back(UnrolledExamples::create(made.originals_[g], parameters, examples_change, unrolling));
        group.rolled = made.unrolled_[g].rolled();
        if (!made.unrolled_[g].empty()) {
            group.examples = made.unrolled_[g].examples();
            group.skips = made.unrolled_[g].skips();
        }
        group.uniform = uniformity_of(group.examples, examples_change);
    }
    made.examples_change_ = examples_change;
    made.count_ = static_cast<std::uint32_t>(traced.size());
    return made;
}

Result<void> ExampleSet::replace(std::span<const TracedExample* const> traced) {
    if (traced.size() != count_) {
        return bad_input("{} examples were given in place of {}; plans were made for that many. Give as many.",
                         traced.size(), count_);
    }
    std::vector<std::vector<const TracedExample*>> originals;
    std::vector<std::vector<ExampleView>> wanted;
    for (std::size_t g = 0; g < groups_.size(); ++g) {
        std::vector<const TracedExample*>& own = originals.emplace_back();
        std::vector<ExampleView>& examples = wanted.emplace_back();
        for (std::uint32_t e = 0; e < groups_[g].count(); ++e) {
            const std::uint32_t index = groups_[g].indices[e];
            own.push_back(traced[index]);
            examples.push_back(view_of(*traced[index]));
            YOLK_TRY_VOID(check_example(*traced[index], index, *parameters_));
            if (traced[index] != originals_[g][e] && signature_of(traced[index]->graph) != signatures_[g]) {
                return bad_input(
                    "Example {} has another structure than the one in its place: other equations, or other shapes. "
                    "Give examples of the same structures in the same order, or make another evaluator.",
                    index);
            }
            if (Result<void> fits = check_ids(examples.back()); !fits)
                return std::move(fits).error().while_doing(fmt::format("taking example {}", index));
        }
        if (!unrolled_[g].empty()) {
            YOLK_TRY(examples, unrolled_[g].take(own));
        }
        if (!covers(uniformity_of(examples, examples_change_), groups_[g].uniform)) {
            return bad_input(
                "The new examples differ where the first ones had the same value, which plans rely on. Create the "
                "evaluator with PopulationOptions::examples_change{}.",
                examples_change_ ? ", and trace literals that differ between examples as inputs" : "");
        }
    }
    for (std::size_t g = 0; g < groups_.size(); ++g) {
        groups_[g].examples = std::move(wanted[g]);
        if (!unrolled_[g].empty()) unrolled_[g].commit();
    }
    originals_ = std::move(originals);
    ++version_;
    return {};
}

bool ExampleSet::is_used(const std::string& name) const {
    return std::ranges::any_of(groups_, [&](const ExampleGroup& group) {
        const auto& used = group.graph().parameters;
        return std::ranges::find(used, name, &GraphParameter::group) != used.end();
    });
}

bool ExampleSet::must_vary(const std::string& name) const {
    return std::ranges::any_of(unrolled_, [&](const UnrolledExamples& group) { return group.needs(name); });
}

std::vector<const ParameterGroup*> ExampleSet::changed_since_trace(const std::set<std::string>& varying) const {
    std::vector<const ParameterGroup*> changed;
    for (const ExampleGroup& group : groups_) {
        for (const ExampleView& example : group.examples) {
            for (const GraphParameter& p : example.graph->parameters) {
                const ParameterGroup* now = parameters_->find(p.group);
                if (varying.contains(p.group) || now == nullptr ||
                    (*example.values)[p.variable.value] == now->value() ||
                    std::find(changed.begin(), changed.end(), now) != changed.end())
                    continue;
                changed.push_back(now);
            }
        }
    }
    return changed;
}

std::vector<Source> ExampleSet::sources_of(const ParameterTable& table, std::uint32_t rank) const {
    std::vector<Source> sources;
    for (std::uint32_t id = 0; id < table.parameters().size(); ++id) {
        const ParameterDesc& desc = table.parameters()[id];
        const ParameterGroup* group = parameters_->find(desc.name);
        if (group == nullptr || !is_used(desc.name)) continue;
        sources.push_back(
            {.spec = group->spec,
             .kind = desc.perturbation == Perturbation::Frozen ? SourceKind::Given : SourceKind::Perturbed,
             .id = ParameterId(id),
             .offset = table.offset(ParameterId(id)),
             .count = desc.rows * desc.columns,
             .rank = rank_of(desc, rank)});
    }
    return sources;
}

Result<Question> ExampleSet::ask_for_plans() const {
    YOLK_TRY(const ParameterTable table, search_table(*parameters_));
    Question question{.sources = sources_of(table, 1)};
    question.values.resize(question.sources.size());
    return question;
}

Result<const ParameterGroup*> ExampleSet::own_group(const std::string& name) const {
    const ParameterGroup* const group = parameters_->find(name);
    if (group == nullptr || group->spec.optimize || !group->spec.has_numbers())
        return bad_input("Candidates are to have their own '{}', which is {}; give groups of numbers.", name,
                         group == nullptr       ? "no group"
                         : group->spec.optimize ? "optimized"
                                                : "a text");
    return group;
}

Result<void> ExampleSet::add_own(Question& question, const OwnValues& own) const {
    for (const OwnValues::Given& given : own.given) {
        YOLK_TRY(const ParameterGroup* const group, own_group(given.group));
        const auto fits = [&](const Tensor& values) { return values.shape() == group->spec.shape; };
        if (given.values.size() != question.count() || !std::ranges::all_of(given.values, fits))
            return bad_input("{} values of '{}' were given for {} candidates; each needs one of the group's shape.",
                             given.values.size(), given.group, question.count());
        question.sources.push_back({.spec = group->spec, .kind = SourceKind::Given});
        question.values.emplace_back(given.values.begin(), given.values.end());
    }
    question.carried.resize(own.carried.empty() ? 0 : question.sources.size());
    if (!own.carried.empty() && count_ != 1)
        return bad_input("Candidates carry a state over {} examples; there must be one.", count_);
    const Graph& graph = groups_.front().graph();
    if (!own.carried.empty() && graph.outputs.size() != own.carried.size() + 1)
        return bad_input("Candidates carry {} states, and graph '{}' has {} outputs; it needs one more than states.",
                         own.carried.size(), graph.name, graph.outputs.size());
    for (std::size_t i = 0; i < own.carried.size(); ++i) {
        const OwnValues::Carried& carried = own.carried[i];
        YOLK_TRY(const ParameterGroup* const group, own_group(carried.group));
        const auto* const next = std::get_if<VariableId>(&graph.outputs[i + 1]);
        if (next == nullptr || element_count(graph.variables[next->value].type) != group->values.values().size())
            return bad_input("Output {} of graph '{}' is no next state of '{}', which has {} elements.", i + 1,
                             graph.name, carried.group, group->values.values().size());
        const std::uint64_t bytes = sizeof(float) * group->values.values().size() * question.count();
        if (carried.values.size_bytes != bytes)
            return bad_input("The state '{}' of {} candidates takes {} bytes; the view has {}.", carried.group,
                             question.count(), bytes, carried.values.size_bytes);
        question.sources.push_back({.spec = group->spec, .kind = SourceKind::Carried});
        question.values.emplace_back();
        question.carried.push_back(carried.values);
    }
    return {};
}

Result<Question> ExampleSet::ask(const Perturbations& perturbations, const OwnValues& own) const {
    YOLK_TRY_VOID(check(perturbations, *parameters_));
    Question question{.sources = sources_of(perturbations.table, perturbations.rank), .perturbations = perturbations};
    std::set<std::string> varying;
    for (const Source& source : question.sources) {
        std::vector<Value>& values = question.values.emplace_back();
        if (source.kind == SourceKind::Given) {
            const auto coordinates = perturbations.mean.subspan(source.offset, source.count);
            YOLK_TRY(Tensor natural, natural_tensor(source.spec, coordinates));
            values.push_back(std::move(natural));
        }
    }
    YOLK_TRY_VOID(add_own(question, own));
    for (const Source& source : question.sources) varying.insert(source.spec.name);
    for (const ParameterGroup* group : changed_since_trace(varying)) {
        question.sources.push_back({.spec = group->spec, .kind = SourceKind::Given});
        question.values.push_back({group->value()});
        if (!question.carried.empty()) question.carried.emplace_back();
    }
    return question;
}

Result<Question> ExampleSet::ask(std::span<const Candidate> list) const {
    std::set<std::string> varying;
    ParameterSet scratch = *parameters_;
    for (std::size_t c = 0; c < list.size(); ++c) {
        for (const auto& [name, values] : list[c].values) {
            if (auto fits = scratch.set(name, values); !fits)
                return std::move(fits).error().while_doing(fmt::format("reading candidate {}", c));
            varying.insert(name);
        }
    }
    Question question{.sources = {}};
    question.perturbations.members = static_cast<std::uint32_t>(list.size());
    const std::vector<const ParameterGroup*> changed = changed_since_trace(varying);
    for (const ParameterGroup& group : parameters_->groups()) {
        const bool varies = varying.contains(group.spec.name);
        const bool is_changed = std::find(changed.begin(), changed.end(), &group) != changed.end();
        const bool is_constant = !varies && !is_changed && !must_vary(group.spec.name);
        if (is_constant || !is_used(group.spec.name)) continue;
        question.sources.push_back({.spec = group.spec, .kind = SourceKind::Given});
        std::vector<Value>& values = question.values.emplace_back(varies ? list.size() : 1, group.value());
        if (!varies) continue;
        for (std::size_t c = 0; c < list.size(); ++c) {
            for (const auto& [name, tensor] : list[c].values) {
                if (name == group.spec.name) values[c] = tensor;
            }
        }
    }
    return question;
}

}  // namespace yolk::hyper::population
