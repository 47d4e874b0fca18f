// SPDX-License-Identifier: Apache-2.0
// One equation of a graph at a time, on the host: what all executors share.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "yolk/internal/hyper/executor.hpp"

namespace yolk::hyper {

/// By variable; empty until it is known.
using KnownValues = std::vector<std::optional<Value>>;

/// "equation 3, linear of hyperfunction 'hidden' (call 2)"; for errors.
[[nodiscard]] std::string describe(const Graph& graph, std::size_t equation);

/// Inputs and parameters in their variables. Errors: another number of them, other types or shapes than the graph's.
[[nodiscard]] Result<KnownValues> bind_arguments(const Graph& graph, const GraphArguments& arguments);
/// Error: a variable that is not known yet, or not in the graph.
[[nodiscard]] Result<std::vector<Value>> read_operands(const Graph& graph, std::size_t equation,
                                                       const KnownValues& values);
[[nodiscard]] Result<std::vector<Value>> read_outputs(const Graph& graph, const KnownValues& values);
/// In the caller's thread; exceptions become errors, errors name the equation.
[[nodiscard]] Result<std::vector<Value>> evaluate_at(const Graph& graph, std::size_t equation,
                                                     std::span<const Value> operands);
/// Makes numbers of integers where the graph has those (conformed). Errors, which name the equation: another number of
/// results or other types than the graph's.
[[nodiscard]] Result<void> check_results(const Graph& graph, std::size_t equation, std::span<Value> results);
/// The same errors, and a value that is known already. Nothing is stored then.
[[nodiscard]] Result<void> store_results(const Graph& graph, std::size_t equation, std::vector<Value> results,
                                         KnownValues& values);

}  // namespace yolk::hyper
