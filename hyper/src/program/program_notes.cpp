// SPDX-License-Identifier: Apache-2.0
// What a program says of itself: where its equations run, and why there.
#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "equations.hpp"
#include "evaluation.hpp"
#include "lowering_rules.hpp"
#include "program.hpp"

namespace yolk::hyper::population {

std::vector<std::string> Program::formed_in(std::size_t group, std::size_t equation) const {
    const Graph& graph = groups_[group].graph();
    std::vector<std::string> names;
    const std::vector<Operand> operands = operands_of(graph, placed_[group], equation, uniform_in(groups_[group]));
    for (std::size_t i = 0; i < operands.size(); ++i) {
        if (is_drawn_matrix(operands[i], sources_) && !draws_noise_of(graph.equations[equation], i))
            names.push_back(sources_[static_cast<std::size_t>(operands[i].traits.source)].spec.name);
    }
    return names;
}

std::vector<std::string> Program::fallbacks() const {
    std::set<std::string> sentences;
    for (std::size_t g = 0; g < groups_.size(); ++g) {
        const Graph& graph = groups_[g].graph();
        for (std::size_t i = 0; i < graph.equations.size(); ++i) {
            const Equation& equation = graph.equations[i];
            std::string of = equation.hyperfunction.empty() ? "" : fmt::format(" of '{}'", equation.hyperfunction);
            if (equation.made_at) of += fmt::format(" ({})", line_of(equation));
            if (placed_[g].equations[i].placement == Placement::Device) {
                for (const std::string& name : formed_in(g, i)) {
                    sentences.insert(
                        fmt::format("Matrix '{}' is formed for each candidate: {}{} takes the whole of it.", name,
                                    equation.operation->name, of));
                }
            }
            if (placed_[g].equations[i].placement != Placement::Host) continue;
            sentences.insert(fmt::format("{}{} runs on the host: {}.", equation.operation->name, of,
                                         placed_[g].equations[i].reason));
        }
    }
    return {sentences.begin(), sentences.end()};
}

bool Program::output_is_direct(std::uint32_t group) const {
    const Graph& graph = groups_[group].graph();
    const auto* id = std::get_if<VariableId>(&graph.outputs.front());
    return hands_out_one(graph) && id != nullptr && placed_[group].variables[id->value].on_device &&
           !read_on_host_[group][id->value];
}

bool Program::outputs_are_plain() const {
    bool are_direct = options_.plain_outputs;
    for (std::uint32_t g = 0; g < groups_.size(); ++g) are_direct = are_direct && output_is_direct(g);
    return are_direct;
}

bool Program::makes_states() const {
    if (!is_device_only() || groups_.size() != 1) return false;
    const std::vector<Atom>& outputs = groups_.front().graph().outputs;
    return std::ranges::all_of(outputs, [&](const Atom& output) {
        const auto* id = std::get_if<VariableId>(&output);
        return id != nullptr && placed_.front().variables[id->value].on_device;
    });
}

bool Program::makes_means() const {
    bool does = options_.mean_outputs && is_device_only();
    for (std::uint32_t g = 0; does && g < groups_.size(); ++g) {
        does = output_is_direct(g);
        if (!does) break;
        const auto output = std::get<VariableId>(groups_[g].graph().outputs.front());
        does = element_count(groups_[g].graph().variables[output.value].type) == 1 &&
               !placed_[g].variables[output.value].words;
    }
    return does;
}

std::uint64_t Program::equations(Placement placement) const {
    std::uint64_t count = 0;
    for (const PlacedGraph& placed : placed_) {
        count +=
            static_cast<std::uint64_t>(std::ranges::count(placed.equations, placement, &PlacedEquation::placement));
    }
    return count;
}

Result<void> Program::check_dispatcher() const {
    const auto on_device = std::ranges::find(phases_, true, &Phase::device);
    if (dispatcher_ != nullptr || on_device == phases_.end()) return {};
    const auto& [group, index] = on_device->equations.front();
    return bad_input("The evaluation needs a dispatcher, since {} of graph '{}' runs on a device; give it one.",
                     describe(groups_[group].graph(), index), groups_[group].graph().name);
}

/// By an equation, or as the output itself.
bool Program::is_read_on_host(std::size_t source) const {
    for (std::size_t g = 0; g < groups_.size(); ++g) {
        const Graph& graph = groups_[g].graph();
        for (const GraphParameter& parameter : graph.parameters) {
            if (parameter.group != sources_[source].spec.name) continue;
            if (read_on_host_[g][parameter.variable.value] || is_handed_out(graph, parameter.variable)) return true;
        }
    }
    return false;
}

std::vector<ParameterId> Program::host_rows() {
    std::vector<bool> sent(sources_.size(), false);  // in natural values, which the host forms
    for (const DevicePhase& phase : emit(1).phases) {
        for (const Upload& upload : phase.uploads) {
            if (upload.source >= 0) sent[static_cast<std::size_t>(upload.source)] = true;
        }
    }
    std::vector<ParameterId> rows;
    for (std::size_t s = 0; s < sources_.size(); ++s) {
        if (sources_[s].kind == SourceKind::Given) continue;
        if (!sources_[s].in_mean() || sent[s] || is_read_on_host(s)) rows.push_back(sources_[s].id);
    }
    std::ranges::sort(rows);
    return rows;
}

}  // namespace yolk::hyper::population
