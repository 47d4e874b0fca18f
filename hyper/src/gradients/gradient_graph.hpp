// SPDX-License-Identifier: Apache-2.0
// The graph whose outputs are the mean reward of a batch of examples and its derivatives.
#pragma once

#include <algorithm>
#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <vector>

#include "yolk/internal/hyper/population.hpp"

namespace yolk::hyper {

/// Inputs of such a graph beside the examples' own, which are stacked.
inline constexpr const char* kWeightsInput = "weights\n";  ///< tensor [size], of each example's reward
inline constexpr const char* kSeedInput = "d output 0";    ///< tensor [1]: 1

/// Whether the list has the name.
[[nodiscard]] inline bool names_one(std::span<const std::string> list, const std::string& name) {
    return std::find(list.begin(), list.end(), name) != list.end();
}

/// Of the graph of one scored example (scored_example.hpp) for `size` of them: sum of weights times rewards, a tensor
/// [1], then its derivatives by the parameters `groups`, in their order in the graph. Errors: those of batch and
/// pullback, which name an equation without a derivative.
[[nodiscard]] Result<Graph> gradient_graph(const Graph& scored, std::uint32_t size,
                                           std::span<const std::string> groups);

/// Those of `groups`, in the graph's order, that have a derivative there. Where `refused` is given, why the others have
/// none, as sentences.
[[nodiscard]] std::vector<std::string> differentiable_groups(const Graph& scored, std::span<const std::string> groups,
                                                             std::vector<std::string>* refused);

/// Inputs of that graph that kernels may read as they are, so that the host need not compute what depends on them:
/// tensors on which no ids, host functions or bodies depend. Weights and seed are not among them.
[[nodiscard]] std::vector<std::string> givable_inputs(const Graph& graph);

/// The inputs of that graph for some examples, each with the inputs of the scored graph; at most `size` and at least
/// one of them. Places that are left are filled with the first, at a weight of 0; the others weigh 1 / `count`.
[[nodiscard]] Result<std::map<std::string, Value>> stacked_inputs(
    const Graph& scored, std::span<const std::map<std::string, Value>> examples, std::uint32_t size,
    std::uint32_t count);

}  // namespace yolk::hyper
