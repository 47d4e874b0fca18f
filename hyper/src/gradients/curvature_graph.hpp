// SPDX-License-Identifier: Apache-2.0
// What K-FAC asks of a graph of derivatives beside them: of each linear layer, what goes in, and what comes back to it
// for targets that are drawn from the model (Martens and Grosse 2015, section 5).
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "yolk/internal/hyper/metric.hpp"
#include "yolk/internal/hyper/population.hpp"

namespace yolk::hyper {

inline constexpr const char* kNoiseInput = "noise\n";  ///< tensor [size, ...]: what the targets are drawn with
inline constexpr const char* kProbeInput = "probe\n";  ///< with a group's name behind it: zeros, of its layer's results

/// A matrix that one `linear` reads, and nothing else.
struct CurvatureLayer {
    std::string group{};
    std::uint32_t n_out = 0, n_in = 0;
    std::uint32_t samples = 0;  ///< rows that go through it, of all examples
    /// Among the outputs: tensors [samples, n_in] and [samples, n_out]. The latter are times sqrt(samples / size), so
    /// that the product of the two covariances is the layer's Fisher matrix of an example.
    std::size_t inputs = 0, derivatives = 0;
};

struct CurvatureGraph {
    Graph graph{};
    std::vector<CurvatureLayer> layers{};
};

/// `example` with one more input, kNoiseInput, and as its output the reward, a tensor [1], where what is expected is
/// drawn from the model; nothing where the metric does not say how.
[[nodiscard]] Result<std::optional<Graph>> sampled_graph(const Graph& example, const Metric& metric);

/// `gradient` (gradient_graph()) with further inputs and outputs. `sampled` is sampled_graph() of an example, or the
/// scored one itself: then the curvature is that of the expected values (the empirical Fisher matrix).
[[nodiscard]] Result<CurvatureGraph> curvature_graph(const Graph& gradient, const Graph& sampled, std::uint32_t size,
                                                     std::span<const std::string> groups);

}  // namespace yolk::hyper
