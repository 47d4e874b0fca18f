// SPDX-License-Identifier: Apache-2.0
// What the public functions do behind their check: for callers who know that the graph is valid, since a tracer or a
// transform made it, or since it has been checked.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "yolk/internal/hyper/executor.hpp"
#include "yolk/internal/hyper/graph.hpp"

namespace yolk::hyper {

[[nodiscard]] std::vector<std::uint32_t> stages_of(const Graph& graph);
[[nodiscard]] std::vector<bool> dependents_of(const Graph& graph,
                                              std::optional<std::span<const std::string>> groups = std::nullopt);
/// The graph may be invalid: two of one signature are valid or not together.
[[nodiscard]] std::string signature_of(const Graph& graph);
/// The graph must outlive the walk.
[[nodiscard]] Result<std::vector<Value>> call_valid(const Graph& graph, const GraphArguments& arguments);

}  // namespace yolk::hyper
