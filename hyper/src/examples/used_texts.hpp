// SPDX-License-Identifier: Apache-2.0
// Where a text of the parameters goes in a graph.
#pragma once

#include <set>
#include <vector>

#include "yolk/internal/hyper/graph.hpp"

namespace yolk::hyper {

/// What is made of a variable by operations alone: results of host functions and models are not.
struct CarriedText {
    std::vector<bool> variables{};  ///< of the graph
    std::set<const Equation*>
        readers{};  ///< calls of host functions and models that are given any of it, in bodies too
    [[nodiscard]] bool has(const Atom& atom) const;
};
/// `last`: an equation behind those of the graph, or null.
[[nodiscard]] CarriedText carried_from(const Graph& graph, VariableId source, const Equation* last = nullptr);

}  // namespace yolk::hyper
