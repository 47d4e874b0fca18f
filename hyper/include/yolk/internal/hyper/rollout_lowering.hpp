// SPDX-License-Identifier: Apache-2.0
// Control policies are graphs like any other; the fused roll-out kernel (primitives/rollout.hpp) is one lowering of
// small ones.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "yolk/internal/hyper/graph.hpp"
#include "yolk/result.hpp"
#include "yolk/rollout.hpp"

namespace yolk::hyper {

/// The perceptron of these widths, without a recurrent layer: input "observation" [widths[0]], for each layer `linear`,
/// `add` of the bias, and `tanh` but for the last. Its groups have the names and the order of
/// PolicyNetwork::parameters().
[[nodiscard]] Graph policy_graph(std::span<const std::uint32_t> widths);

struct RolloutNetwork {
    PolicyNetwork network;
    std::vector<std::string> groups;  ///< of the graph, in the order of network.parameters()
};

/// The network that a policy's graph is, for the rollout kernel. Errors (Unsupported): anything but a chain as
/// policy_graph makes it, naming the equation where it leaves the chain and what is expected there; a graph that is not
/// valid is BadInput.
[[nodiscard]] Result<RolloutNetwork> lower_to_rollout(const Graph& graph);

}  // namespace yolk::hyper
