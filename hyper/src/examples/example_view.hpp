// SPDX-License-Identifier: Apache-2.0
// The values of a trace by their places in its graph.
#pragma once

#include <cstddef>
#include <limits>
#include <vector>

#include "yolk/internal/hyper/graph.hpp"
#include "yolk/internal/hyper/population.hpp"

namespace yolk::hyper::population {

/// A trace, or the unrolled form of one (unroll.hpp), which belongs to somebody else.
struct ExampleView {
    const Graph* graph = nullptr;
    const std::vector<Value>* values = nullptr;  ///< by variable
};

inline constexpr std::size_t kOutputs = std::numeric_limits<std::size_t>::max();
/// Operand `operand` of equation `equation`; of the graph's outputs where that is kOutputs.
struct AtomPlace {
    std::size_t equation = 0;
    std::size_t operand = 0;
};
[[nodiscard]] const Atom& atom_at(const Graph& graph, const AtomPlace& place);
/// What the atom was in that example's trace.
[[nodiscard]] const Value& traced_value(const ExampleView& example, const AtomPlace& place);
[[nodiscard]] inline ExampleView view_of(const TracedExample& example) { return {&example.graph, &example.values}; }
/// One output without a name; otherwise what comes out is a record.
[[nodiscard]] inline bool has_one_output(const Graph& graph) {
    return graph.outputs.size() == 1 && graph.output_names.empty();
}
/// Of the values of a graph's outputs: the one, or a record of them, those without names by their numbers.
[[nodiscard]] Value output_from(const Graph& graph, std::vector<Value> outputs);
[[nodiscard]] Value output_of(const TracedExample& example);

}  // namespace yolk::hyper::population
