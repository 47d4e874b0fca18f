// SPDX-License-Identifier: Apache-2.0
// Which steps of loops a program may leave out, and which of its equations are requirements.
#include <algorithm>

#include "program.hpp"
#include "requirement.hpp"

namespace yolk::hyper::population {
namespace {

constexpr std::size_t kNoPhase = static_cast<std::size_t>(-1);

/// By equation: the phase that it is of; of data none.
std::vector<std::size_t> phases_of(std::span<const Phase> phases, std::uint32_t group, std::size_t equations) {
    std::vector<std::size_t> found(equations, kNoPhase);
    for (std::size_t p = 0; p < phases.size(); ++p) {
        for (const EquationRef& ref : phases[p].equations) {
            if (ref.group == group) found[ref.equation] = p;
        }
    }
    return found;
}

/// The one phase of the device that has all of the equations, but for data.
std::size_t only_phase(std::span<const Phase> phases, std::span<const std::size_t> phase_of) {
    std::size_t only = kNoPhase;
    for (const std::size_t phase : phase_of) {
        if (phase == kNoPhase) continue;
        if (only != kNoPhase && only != phase) return kNoPhase;
        only = phase;
    }
    return only != kNoPhase && phases[only].device ? only : kNoPhase;
}

/// As a program can take it: what it copies lies alike, and data is what it is.
std::optional<PhaseSkip> phase_skip(const PlacedGraph& placed, std::uint32_t group, Skip skip) {
    const Traits& asked = placed.variables[skip.goes_on.value];
    if (asked.varies && !asked.on_device) return {};
    std::erase_if(skip.results, [&](const auto& result) { return !placed.variables[result.second.value].varies; });
    for (const auto& [before, behind] : skip.results) {
        const Traits &from = placed.variables[before.value], &to = placed.variables[behind.value];
        if (!from.on_device || !to.on_device || from.per_example != to.per_example || from.words != to.words) return {};
    }
    return PhaseSkip{.group = group, .skip = std::move(skip), .asked = asked.varies};
}

}  // namespace

void Program::find_skips() {
    for (std::uint32_t g = 0; g < groups_.size(); ++g) {
        const std::vector<std::size_t> phase_of = phases_of(phases_, g, groups_[g].graph().equations.size());
        for (const Skip& skip : groups_[g].skips) {
            const std::size_t phase =
                only_phase(phases_, std::span(phase_of).subspan(skip.first, skip.end - skip.first));
            std::optional<PhaseSkip> taken;
            if (phase != kNoPhase) taken = phase_skip(placed_[g], g, skip);
            if (taken) phases_[phase].skips.push_back(*std::move(taken));
        }
    }
}

bool Program::goes_on_by_data(const PhaseSkip& skip) const {
    const auto holds = [&](const ExampleView& example) {
        const Value& value = example.values->at(skip.skip.goes_on.value);
        return value.as_number().value_or(1.0) != 0.0;
    };
    return std::ranges::any_of(groups_[skip.group].examples, holds);
}

Result<bool> Program::answer(const ChunkPlan& plan, const ChunkPlan::Slot& slot, const Phase& phase) const {
    YOLK_TRY_VOID(slot.readback.invalidate());
    const DevicePhase& device = plan.layout.phases[phase.device_index];
    const auto* const answers = reinterpret_cast<const float*>(slot.readback.mapped().data() + device.answer);
    return std::any_of(answers, answers + plan.members, [](float goes_on) { return goes_on != 0.0F; });
}

bool Program::is_left_out(const ChunkPlan& plan, const Phase& phase, const Progress& progress,
                          const Download& download) const {
    if (download.bound == 0) return false;
    return std::ranges::any_of(progress.taken, [&](std::size_t taken) {
        const PhaseSkip& left_out = phase.skips[plan.layout.phases[phase.device_index].skips[taken].index];
        const Skip& skip = left_out.skip;
        const auto is_copied = [&](const auto& result) { return result.second == download.variable; };
        return left_out.group == download.group && skip.first <= download.equation && download.equation < skip.end &&
               std::ranges::none_of(skip.results, is_copied);
    });
}

void Program::find_required() {
    for (std::uint32_t g = 0; g < groups_.size(); ++g) {
        const Graph& graph = groups_[g].graph();
        for (std::size_t i = 0; i < graph.equations.size(); ++i) {
            if (!is_requirement(graph.equations[i]) || placed_[g].equations[i].placement == Placement::Data) continue;
            Required required{.equation = {g, i}};
            const auto* id = std::get_if<VariableId>(&graph.equations[i].operands[0]);
            const bool is_kept =
                id != nullptr && (read_on_host_[g][id->value] || (is_handed_out(graph, *id) && !hands_out_one(graph)));
            if (id != nullptr && !is_kept && placed_[g].variables[id->value].on_device) required.variable = *id;
            required_.push_back(required);
        }
    }
}

std::int64_t Program::bound_of(std::uint32_t group, VariableId variable) const {
    std::int64_t bound = 0;
    for (const Required& required : required_) {
        if (required.equation.group != group || required.variable != variable) continue;
        const std::int64_t own = population::bound_of(groups_[group].graph().equations[required.equation.equation]);
        bound = bound == 0 ? own : std::min(bound, own);
    }
    return bound;
}

}  // namespace yolk::hyper::population
