// SPDX-License-Identifier: Apache-2.0
// A graph for people: lines of text, Graphviz, or a picture.
#pragma once

#include <span>
#include <string>

#include "yolk/hyper/graph.hpp"
#include "yolk/hyper/population.hpp"

namespace yolk::hyper {

// `placed` is what place() says of the equations, and is shown with them; empty: not shown. Names and values may hold
// anything: they are escaped, long ones are cut. Error: a graph that is not valid.

/// One line per equation: results with their types, operation, operands, attributes, stage, where it runs and why.
/// Bodies of higher-order equations follow, indented.
[[nodiscard]] Result<std::string> to_text(const Graph& graph, std::span<const PlacedEquation> placed = {});
/// For `dot -Tsvg`: equations of one stage on one rank.
[[nodiscard]] Result<std::string> to_dot(const Graph& graph, std::span<const PlacedEquation> placed = {});
/// An SVG file that stands alone: a column per stage, inputs and parameters on the left, outputs on the right.
[[nodiscard]] Result<std::string> to_svg(const Graph& graph, std::span<const PlacedEquation> placed = {});

}  // namespace yolk::hyper
