// SPDX-License-Identifier: Apache-2.0
// The plainest executor: equations in order, in the calling thread. Higher-order operations run their bodies with it.
#pragma once

#include <span>
#include <vector>

#include "yolk/hyper/graph.hpp"

namespace yolk::hyper {

/// Outputs for inputs and parameters in the graph's order. Errors: another number or type of them, an equation's.
[[nodiscard]] Result<std::vector<Value>> interpret(const Graph& graph, std::span<const Value> inputs,
                                                   std::span<const Tensor> parameters);

}  // namespace yolk::hyper
