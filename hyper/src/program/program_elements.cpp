// SPDX-License-Identifier: Apache-2.0
// Which of a program's equations one kernel computes together.
#include <fmt/format.h>

#include "program.hpp"
#include "yolk/log.hpp"

namespace yolk::hyper::population {

PlacedExamples Program::placed_examples(std::uint32_t group) const {
    return {.graph = groups_[group].graph(),
            .placed = placed_[group],
            .count = groups_[group].count(),
            .is_uniform = uniform_in(groups_[group])};
}

void Program::find_elements() {
    for (std::uint32_t g = 0; g < groups_.size(); ++g) {
        const Graph& graph = groups_[g].graph();
        Elements& found = elements_.emplace_back();
        found.of.assign(graph.equations.size(), -1);
        if (!options_.joined_kernels) continue;
        // Of one phase, and of the same steps that may be left out: the number of the innermost ones.
        std::vector<std::size_t> places(graph.equations.size(), 0);
        std::vector<bool> taken = read_on_host_[g];
        for (const Atom& output : graph.outputs) {
            if (const auto* id = std::get_if<VariableId>(&output)) taken[id->value] = true;
        }
        std::size_t next = 0;
        for (const Phase& phase : phases_) {
            ++next;
            for (const EquationRef& ref : phase.equations) {
                if (ref.group == g) places[ref.equation] = next;
            }
            for (const PhaseSkip& left_out : phase.skips) {
                if (left_out.group != g) continue;
                ++next;
                for (std::size_t i = left_out.skip.first; i < left_out.skip.end; ++i) places[i] = next;
                taken[left_out.skip.goes_on.value] = true;
                for (const auto& [before, behind] : left_out.skip.results)
                    taken[before.value] = taken[behind.value] = true;
            }
        }
        found.groups =
            find_element_groups({.of = placed_examples(g), .fused = fused_[g], .places = places, .taken = taken});
        for (std::size_t e = 0; e < found.groups.size(); ++e) {
            for (const std::size_t i : found.groups[e].equations) found.of[i] = static_cast<std::int32_t>(e);
        }
    }
}

Result<void> Program::try_elements(ChunkPlan& plan) {
    if (dispatcher_ == nullptr) return {};
    for (const ElementProgramDesc& desc : plan.layout.programs) {
        const Result<ElementProgramPlan> tried = plan_element_program(dispatcher_->device(), desc);
        if (tried) continue;
        const Error& error = tried.error();
        if (error.kind == ErrorKind::Cancelled || error.kind == ErrorKind::DeviceLost) return error;
        log_warning(fmt::format("Elementwise operations run one by one, which is slower: {}", error.message));
        for (Elements& elements : elements_) {
            elements.groups.clear();
            elements.of.assign(elements.of.size(), -1);
        }
        constants_ = {};
        constants_buffer_ = {};
        examples_staging_ = {};
        examples_dirty_ = false;
        plan.kept.clear();
        plan.layout = emit(plan.members, &plan);
        return {};
    }
    return {};
}

}  // namespace yolk::hyper::population
