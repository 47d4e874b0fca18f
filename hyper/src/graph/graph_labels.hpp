// SPDX-License-Identifier: Apache-2.0
// Words for the parts of a graph, shared by its text, Graphviz and SVG forms.
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "yolk/internal/hyper/graph.hpp"
#include "yolk/internal/hyper/population.hpp"

namespace yolk::hyper {

/// Valid UTF-8 without control characters, at most `length` characters.
[[nodiscard]] std::string clean(std::string_view text, std::size_t length);
/// "%3", or a literal's value.
[[nodiscard]] std::string label(const Atom& atom);
/// "sizes=[1, 3]".
[[nodiscard]] std::string label(const std::pair<std::string, Attribute>& attribute);
/// "device", "host", "data", with the reason in brackets; empty where it is not known.
[[nodiscard]] std::string label(std::span<const PlacedEquation> placed, std::size_t equation);
/// The operation, or the host function that is called.
[[nodiscard]] std::string title(const Equation& equation);

}  // namespace yolk::hyper
