// SPDX-License-Identifier: Apache-2.0
#include "yolk/hyper/population.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>
#include <utility>

#include "population_run.hpp"

namespace yolk::hyper {

using population::Candidates;
using population::ExampleGroup;
using population::Source;
using population::SourceKind;

struct PopulationEvaluator::Impl {
    Resources resources;
    const ParameterSet* parameters = nullptr;
    PopulationOptions options;
    std::vector<ExampleGroup> groups;
    std::uint32_t examples = 0;
    struct Known {
        std::string key;
        std::unique_ptr<population::Program> program;
    };
    std::vector<Known> programs;  // the latest last
    std::vector<ParameterId> host_rows;

    Result<void> group_examples(std::span<const TracedExample> traced);
    [[nodiscard]] bool is_used(const std::string& group) const;
    /// A source of each row of the table that some graph uses; frozen ones are given, the same for all.
    [[nodiscard]] std::vector<Source> sources_of(const ParameterTable& table) const;
    /// Groups that are the same for all candidates, but not what they were in the trace.
    [[nodiscard]] std::vector<const ParameterGroup*> changed_since_trace(const std::set<std::string>& varying) const;
    Result<population::Program*> program_for(std::vector<Source> sources, std::uint32_t rank, bool antithetic = true);
    Result<PopulationOutputs> evaluate(const Perturbations& perturbations);
    Result<PopulationOutputs> evaluate(std::span<const Candidate> candidates);
};

namespace {

constexpr std::size_t kKeptPrograms = 8;
constexpr std::uint32_t kMaxRank = 32;

std::string names_of(const ParameterSet& parameters) {
    std::string names;
    for (const ParameterGroup& group : parameters.groups())
        names += fmt::format("{}'{}'", names.empty() ? "" : ", ", group.spec.name);
    return names.empty() ? "none" : names;
}

/// Of what is left of it, where the driver says so.
std::uint64_t quarter_of_the_heap(const Device& device) {
    std::uint64_t largest = 0;
    for (const MemoryHeapInfo& heap : device.heaps()) largest = std::max(largest, heap_room(device.info().kind, heap));
    return largest / 4;
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
    if (p.centre.size() != p.table.element_count()) {
        return bad_input("The centre has {} elements; the table has {}.", p.centre.size(), p.table.element_count());
    }
    if (!p.device_centre.empty() && p.device_centre.size_bytes < p.table.size_bytes()) {
        return bad_input("The centre on the device has {} bytes; the table needs {}.", p.device_centre.size_bytes,
                         p.table.size_bytes());
    }
    if (p.rank < 1 || p.rank > kMaxRank)
        return bad_input("Rank {} was given; it must be from 1 to {}.", p.rank, kMaxRank);
    if (p.first_member < -1) return bad_input("The first member is {}; -1 is the centre, 0 the first.", p.first_member);
    return {};
}

}  // namespace

Result<void> PopulationEvaluator::Impl::group_examples(std::span<const TracedExample> traced) {
    std::map<std::string, std::size_t> known;
    for (std::size_t i = 0; i < traced.size(); ++i) {
        YOLK_TRY_VOID(check_example(traced[i], i, *parameters));
        const auto [found, is_new] = known.emplace(signature(traced[i].graph), groups.size());
        if (is_new) groups.emplace_back();
        groups[found->second].examples.push_back(&traced[i]);
        groups[found->second].indices.push_back(static_cast<std::uint32_t>(i));
    }
    examples = static_cast<std::uint32_t>(traced.size());
    return {};
}

bool PopulationEvaluator::Impl::is_used(const std::string& name) const {
    return std::ranges::any_of(groups, [&](const ExampleGroup& group) {
        const auto& used = group.graph().parameters;
        return std::ranges::find(used, name, &GraphParameter::group) != used.end();
    });
}

std::vector<const ParameterGroup*> PopulationEvaluator::Impl::changed_since_trace(
    const std::set<std::string>& varying) const {
    std::vector<const ParameterGroup*> changed;
    for (const ExampleGroup& group : groups) {
        for (const TracedExample* example : group.examples) {
            for (const GraphParameter& p : example->graph.parameters) {
                const ParameterGroup* now = parameters->find(p.group);
                if (varying.contains(p.group) || now == nullptr ||
                    example->values[p.variable.value] == Value(now->values) ||
                    std::find(changed.begin(), changed.end(), now) != changed.end())
                    continue;
                changed.push_back(now);
            }
        }
    }
    return changed;
}

Result<population::Program*> PopulationEvaluator::Impl::program_for(std::vector<Source> sources, std::uint32_t rank,
                                                                    bool antithetic) {
    std::string key = fmt::format("rank {}{}", rank, antithetic ? "" : ", each member its own noise");
    for (const Source& source : sources)
        key += fmt::format("\n{} {} {}", source.spec.name, static_cast<int>(source.kind), source.id.value);
    const auto found = std::ranges::find(programs, key, &Known::key);
    if (found != programs.end()) {
        std::rotate(found, found + 1, programs.end());
        return programs.back().program.get();
    }
    const population::Program::Options wanted{.members_per_chunk = std::max(1U, options.max_batch_size / examples),
                                              .budget_bytes = options.memory_budget_bytes > 0
                                                                  ? options.memory_budget_bytes
                                                                  : quarter_of_the_heap(resources.dispatcher->device()),
                                              .rank = rank,
                                              .antithetic = antithetic};
    YOLK_TRY(auto program, population::Program::create(*resources.dispatcher, groups, std::move(sources), wanted));
    if (programs.size() == kKeptPrograms) programs.erase(programs.begin());
    programs.push_back({std::move(key), std::move(program)});
    return programs.back().program.get();
}

std::vector<Source> PopulationEvaluator::Impl::sources_of(const ParameterTable& table) const {
    std::vector<Source> sources;
    for (std::uint32_t id = 0; id < table.parameters().size(); ++id) {
        const ParameterDesc& desc = table.parameters()[id];
        const ParameterGroup* group = parameters->find(desc.name);
        if (group == nullptr || !is_used(desc.name)) continue;
        sources.push_back(
            {.spec = group->spec,
             .kind = desc.perturbation == Perturbation::Frozen ? SourceKind::Given : SourceKind::Perturbed,
             .id = ParameterId(id),
             .offset = table.offset(ParameterId(id)),
             .count = desc.rows * desc.columns});
    }
    return sources;
}

Result<PopulationOutputs> PopulationEvaluator::Impl::evaluate(const Perturbations& perturbations) {
    YOLK_TRY_VOID(check(perturbations, *parameters));
    std::vector<Source> sources = sources_of(perturbations.table);
    std::vector<Tensor> given;
    std::set<std::string> varying;
    for (const Source& source : sources) {
        given.emplace_back();
        if (source.kind == SourceKind::Given) {
            const auto coordinates = perturbations.centre.subspan(source.offset, source.count);
            YOLK_TRY(given.back(), population::natural_tensor(source.spec, coordinates));
        }
        varying.insert(source.spec.name);
    }
    for (const ParameterGroup* group : changed_since_trace(varying)) {
        sources.push_back({.spec = group->spec, .kind = SourceKind::Given});
        given.push_back(group->values);
    }
    YOLK_TRY(population::Program* const program,
             program_for(std::move(sources), perturbations.rank, perturbations.antithetic));
    Candidates candidates = Candidates::perturbed(program->sources(), perturbations, std::move(given));
    return population::Run(*resources.dispatcher, resources.pool, *program, candidates, examples).all();
}

Result<PopulationOutputs> PopulationEvaluator::Impl::evaluate(std::span<const Candidate> list) {
    std::set<std::string> varying;
    ParameterSet scratch = *parameters;
    for (std::size_t c = 0; c < list.size(); ++c) {
        for (const auto& [name, values] : list[c].values) {
            if (auto fits = scratch.set(name, values); !fits)
                return std::move(fits).error().while_doing(fmt::format("reading candidate {}", c));
            varying.insert(name);
        }
    }
    std::vector<Source> sources;
    std::vector<std::vector<Tensor>> values;
    const std::vector<const ParameterGroup*> changed = changed_since_trace(varying);
    for (const ParameterGroup& group : parameters->groups()) {
        const bool varies = varying.contains(group.spec.name);
        const bool is_changed = std::find(changed.begin(), changed.end(), &group) != changed.end();
        if ((!varies && !is_changed) || !is_used(group.spec.name)) continue;
        sources.push_back({.spec = group.spec, .kind = SourceKind::Given});
        values.emplace_back(varies ? list.size() : 1, group.values);
        if (!varies) continue;
        for (std::size_t c = 0; c < list.size(); ++c) {
            for (const auto& [name, tensor] : list[c].values) {
                if (name == group.spec.name) values.back()[c] = tensor;
            }
        }
    }
    YOLK_TRY(population::Program* const program, program_for(std::move(sources), 1));
    Candidates candidates =
        Candidates::given(program->sources(), static_cast<std::uint32_t>(list.size()), std::move(values));
    return population::Run(*resources.dispatcher, resources.pool, *program, candidates, examples).all();
}

Result<PopulationEvaluator> PopulationEvaluator::create(const Resources& resources,
                                                        std::span<const TracedExample> examples,
                                                        const ParameterSet& parameters,
                                                        const PopulationOptions& options) {
    if (resources.dispatcher == nullptr)
        return bad_input("A population evaluator needs a dispatcher: where tensor equations run.");
    if (examples.empty()) return bad_input("No examples were given; a population is evaluated on at least one.");
    if (options.max_batch_size == 0) return bad_input("max_batch_size is 0; it must be at least 1.");
    auto impl = std::make_unique<Impl>();
    impl->resources = resources;
    impl->parameters = &parameters;
    impl->options = options;
    YOLK_TRY_VOID(impl->group_examples(examples));
    // What a search will ask for: it says now what runs where, and whether one candidate fits.
    YOLK_TRY(const SearchSpace space, search_space(parameters));
    YOLK_TRY(population::Program* const program, impl->program_for(impl->sources_of(space.table), 1));
    impl->host_rows = program->host_rows();
    return PopulationEvaluator(std::move(impl));
}

Result<PopulationOutputs> PopulationEvaluator::evaluate(const Perturbations& candidates) {
    return impl_->evaluate(candidates);
}
Result<PopulationOutputs> PopulationEvaluator::evaluate(std::span<const Candidate> candidates) {
    return impl_->evaluate(candidates);
}

std::span<const ParameterId> PopulationEvaluator::host_rows() const noexcept { return impl_->host_rows; }

std::vector<std::string> PopulationEvaluator::fallbacks() const {
    std::set<std::string> sentences;
    for (const Impl::Known& known : impl_->programs) {
        for (std::string& sentence : known.program->fallbacks()) sentences.insert(std::move(sentence));
    }
    return {sentences.begin(), sentences.end()};
}

}  // namespace yolk::hyper
