// SPDX-License-Identifier: Apache-2.0
// Which of a program's equations one kernel computes together, and which products read where others' results lie.
#include <fmt/format.h>

#include "layer_networks.hpp"
#include "program.hpp"
#include "yolk/log.hpp"

namespace yolk::hyper::population {

PlacedExamples Program::placed_examples(std::uint32_t group) const {
    return {.graph = groups_[group].graph(),
            .placed = placed_[group],
            .count = groups_[group].count(),
            .is_uniform = uniform_in(groups_[group])};
}

Program::Togetherness Program::togetherness(std::uint32_t group) const {
    const Graph& graph = groups_[group].graph();
    Togetherness found{.places = std::vector<std::size_t>(graph.equations.size(), 0), .taken = read_on_host_[group]};
    for (const Atom& output : graph.outputs) {
        if (const auto* id = std::get_if<VariableId>(&output)) found.taken[id->value] = true;
    }
    std::size_t next = 0;
    for (const Phase& phase : phases_) {
        ++next;
        for (const EquationRef& ref : phase.equations) {
            if (ref.group == group) found.places[ref.equation] = next;
        }
        for (const PhaseSkip& left_out : phase.skips) {
            if (left_out.group != group) continue;
            ++next;
            for (std::size_t i = left_out.skip.first; i < left_out.skip.end; ++i) found.places[i] = next;
            found.taken[left_out.skip.goes_on.value] = true;
            for (const auto& [before, behind] : left_out.skip.results)
                found.taken[before.value] = found.taken[behind.value] = true;
        }
    }
    return found;
}

void Program::find_elements(bool joined) {
    elements_.clear();
    fused_.clear();
    for (std::uint32_t g = 0; g < groups_.size(); ++g) {
        Elements& found = elements_.emplace_back();
        found.of.assign(groups_[g].graph().equations.size(), -1);
        const auto [places, taken] = togetherness(g);
        fused_.push_back(fuse(groups_[g].graph(), placed_[g], read_on_host_[g]));
        if (joined)
            join_layers({.of = placed_examples(g), .sources = sources_, .places = places, .taken = taken}, fused_[g]);
        found.groups = find_groups(
            {.of = placed_examples(g), .fused = fused_[g], .places = places, .taken = taken, .joined = joined});
        for (std::size_t e = 0; e < found.groups.size(); ++e) {
            for (const std::size_t i : found.groups[e].equations) found.of[i] = static_cast<std::int32_t>(e);
        }
    }
}

void Program::find_products() {
    for (std::uint32_t g = 0; g < groups_.size(); ++g) {
        const Graph& graph = groups_[g].graph();
        std::vector<bool> joined(graph.equations.size(), !options_.joined_kernels);
        for (std::size_t i = 0; i < joined.size(); ++i) {
            if (elements_[g].of[i] >= 0 || fused_[g][i].is_absorbed || fused_[g][i].result) joined[i] = true;
        }
        const auto [places, taken] = togetherness(g);
        products_.push_back(find_product_views({.graph = graph,
                                                .placed = placed_[g],
                                                .sources = sources_,
                                                .is_uniform = uniform_in(groups_[g]),
                                                .examples = groups_[g].count(),
                                                .places = places,
                                                .joined = joined,
                                                .taken = taken}));
    }
}

namespace {

template <class Desc>
Result<void> try_plan(const Device& device, const Desc& desc) {
    YOLK_TRY_VOID(Plan<Desc>::make(device, desc));
    return {};
}

/// The first error of making the kernels of a layout.
Result<void> try_programs(const Device& device, const Layout& layout) {
    for (const ProgramDesc& program : layout.programs)
        YOLK_TRY_VOID(std::visit([&](const auto& desc) { return try_plan(device, desc); }, program));
    for (const PerturbedNetworkDesc& network : layout.networks) YOLK_TRY_VOID(try_plan(device, network));
    return {};
}

}  // namespace

Result<void> Program::try_elements(ChunkPlan& plan) {
    if (dispatcher_ == nullptr) return {};
    const Result<void> tried = try_programs(dispatcher_->device(), plan.layout);
    if (tried) return {};
    const Error& error = tried.error();
    if (error.kind == ErrorKind::Cancelled || error.kind == ErrorKind::DeviceLost) return error;
    log_warning(
        fmt::format("Operations that one kernel would do together run one by one, which is slower: {}", error.message));
    find_elements(false);
    constants_ = {};
    constants_buffer_ = {};
    examples_staging_ = {};
    examples_dirty_ = false;
    plan.kept.clear();
    plan.layout = emit(plan.members, &plan);
    return {};
}

}  // namespace yolk::hyper::population
