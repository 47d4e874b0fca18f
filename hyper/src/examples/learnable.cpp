// SPDX-License-Identifier: Apache-2.0
#include "learnable.hpp"
#include "valid_graph.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <vector>

#include "yolk/internal/core/printable.hpp"
#include "yolk/internal/hyper/graph.hpp"

namespace yolk::hyper {
namespace {

bool is_output_from(const TracedExample& example, std::span<const std::string> groups) {
    const std::vector<bool> depends = dependents_of(example.graph, groups);
    return std::ranges::any_of(example.graph.outputs, [&](const Atom& output) {
        const auto* id = std::get_if<VariableId>(&output);
        return id != nullptr && depends[id->value];
    });
}

}  // namespace

Result<void> check_learnable(const std::string& system, std::span<const TracedExample> examples,
                             std::span<const std::string> groups) {
    for (const TracedExample& example : examples) {
        if (is_output_from(example, groups)) return {};
    }
    std::vector<std::string> cuts;
    for (const TracedExample& example : examples) {
        for (const std::string& cut : example.cuts) {
            if (std::ranges::find(cuts, cut) == cuts.end()) cuts.push_back(cut);
        }
    }
    const std::string what = fmt::format(
        "The output of system '{}' depends on none of the hyperfunctions that are optimized ({}), so every candidate "
        "would have the same reward and nothing could be learned.",
        shown(system), fmt::join(groups, ", "));
    if (cuts.empty()) return bad_input("{} Let the output be computed from what they return.", what);
    return bad_input("{} The dependence was cut where {}.", what, fmt::join(cuts, ", and where "));
}

}  // namespace yolk::hyper
