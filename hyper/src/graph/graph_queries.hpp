// SPDX-License-Identifier: Apache-2.0
// What a graph, its equations and types are asked.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string_view>
#include <vector>

#include "yolk/internal/hyper/graph.hpp"

namespace yolk::hyper {

using Body = std::shared_ptr<const Graph>;

[[nodiscard]] std::vector<ValueType> types_of(const Graph& graph, std::span<const VariableId> variables);
[[nodiscard]] ValueType type_of(const Graph& graph, const Atom& atom);
[[nodiscard]] std::vector<ValueType> input_types(const Graph& body);
[[nodiscard]] std::vector<ValueType> output_types(const Graph& body);
[[nodiscard]] bool is(const Equation& equation, std::string_view operation);
/// Of the equation, or of one in its bodies.
[[nodiscard]] bool has_effects(const Equation& equation);
/// Bodies inside bodies; no more than kMostNesting are counted.
[[nodiscard]] std::size_t nesting_of(const Graph& graph, std::size_t most = kMostNesting);
/// Which variables equations and outputs read.
[[nodiscard]] std::vector<bool> variables_read(const Graph& graph);
/// By variable, the equations that read it, in their order; one that reads it twice stands there twice.
[[nodiscard]] std::vector<std::vector<std::size_t>> readers_of(const Graph& graph);

/// Tensors, numbers, texts (they move by texts; the empty one is zero), and records that have one in them: they move as
/// records of their own type, in which what cannot move (integers, booleans, lists) is blank.
[[nodiscard]] bool can_move(const ValueType& type);
/// A text, or a record that has one in it.
[[nodiscard]] bool has_text(const ValueType& type);

/// Model calls that one run of a traced example makes, those of loops and branches once.
[[nodiscard]] std::uint64_t model_calls_in(const Graph& graph);

}  // namespace yolk::hyper
