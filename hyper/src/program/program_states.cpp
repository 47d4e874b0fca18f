// SPDX-License-Identifier: Apache-2.0
// States that candidates carry on the device: kernels read them where they lie, and a scatter writes into them.
#include <algorithm>
#include <numeric>
#include <utility>

#include "program.hpp"

namespace yolk::hyper::population {
namespace {

bool are_same(const BufferView& a, const BufferView& b) {
    return a.buffer == b.buffer && a.offset_bytes == b.offset_bytes && a.size_bytes == b.size_bytes;
}

}  // namespace

std::vector<std::int32_t> Program::next_states() const {
    std::vector<std::int32_t> found;
    std::size_t output = 0;
    const auto is_only_reader = [&](const Equation& equation, std::size_t source) {
        const Graph& graph = groups_.front().graph();
        return std::ranges::all_of(graph.equations, [&](const Equation& other) {
            return &other == &equation || std::ranges::none_of(other.operands, [&](const Atom& atom) {
                const auto* id = std::get_if<VariableId>(&atom);
                return id != nullptr &&
                       placed_.front().variables[id->value].source == static_cast<std::int32_t>(source);
            });
        });
    };
    for (std::size_t s = 0; s < sources_.size(); ++s) {
        if (sources_[s].kind != SourceKind::Carried) continue;
        const Graph& graph = groups_.front().graph();
        found.resize(graph.variables.size(), -1);
        const auto* next = std::get_if<VariableId>(&graph.outputs[++output]);
        const auto maker = std::ranges::find_if(graph.equations, [&](const Equation& equation) {
            return next != nullptr && std::ranges::find(equation.results, *next) != equation.results.end();
        });
        if (maker != graph.equations.end() && is_only_reader(*maker, s))
            found[next->value] = static_cast<std::int32_t>(s);
    }
    return found;
}

Result<void> Program::align_chunk() {
    std::uint64_t step = 1;  // powers of two
    for (const Source& source : sources_) {
        if (source.kind != SourceKind::Carried) continue;
        const std::uint64_t bytes = 4 * source.spec.shape.element_count().value_or(0);
        step = std::max(step, kViewAlignment / std::gcd(bytes, kViewAlignment));
    }
    if (options_.members_per_chunk < step)
        return bad_input(
            "Only {} candidates are evaluated at once. The states that they carry must begin at multiples of {} bytes, "
            "which takes at least {}.",
            options_.members_per_chunk, kViewAlignment, step);
    options_.members_per_chunk -= static_cast<std::uint32_t>(options_.members_per_chunk % step);
    return {};
}

Result<void> Program::bind_states(ChunkPlan& plan, std::vector<BufferView> states) {
    if (std::ranges::equal(plan.states, states, &are_same)) return {};
    plan.states = std::move(states);
    return bind(plan);
}

Result<void> Program::check_states(const ChunkPlan& plan) const {
    std::size_t output = 0;
    for (std::size_t s = 0; s < sources_.size(); ++s) {
        if (sources_[s].kind != SourceKind::Carried) continue;
        const BufferRef& next = plan.kept.front()[++output];
        if (next.home == BufferRef::Home::State && next.index != s)
            return bad_input("The next state of '{}' is that of '{}' as it is; only what a kernel makes can be one.",
                             sources_[s].spec.name, sources_[next.index].spec.name);
    }
    return {};
}

void Program::record_states(const ChunkPlan& plan, ChunkPlan::Slot& slot) const {
    std::size_t output = 0;
    for (const BufferView& state : plan.states) {
        if (state.empty()) continue;
        const BufferRef& next = plan.kept.front()[++output];
        if (next.home != BufferRef::Home::State) slot.recorder->copy(view_of(plan, next), state);
    }
}

}  // namespace yolk::hyper::population
