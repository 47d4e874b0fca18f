// SPDX-License-Identifier: Apache-2.0
// Which of a program's equations are requirements, and what the device makes for them.
#include <algorithm>

#include "program.hpp"
#include "requirement.hpp"

namespace yolk::hyper::population {

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
