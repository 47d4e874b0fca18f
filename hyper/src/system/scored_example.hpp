// SPDX-License-Identifier: Apache-2.0
// An example whose output is its reward: the metric's equations behind the system's.
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "yolk/internal/hyper/metric.hpp"
#include "yolk/internal/hyper/population.hpp"

namespace yolk::hyper {

/// The input that holds the expected value in such a graph; no system's own has a name with a line break.
inline constexpr const char* kExpectedInput = "expected\n";

/// What a metric is given of a graph's outputs.
struct ScoredOutputs {
    std::vector<std::size_t> outputs;  ///< of the graph
    std::vector<std::string> names{};  ///< of the record that they are; empty: it is the one itself
    ValueType type{};                  ///< of the prediction
};
/// Error: the metric's field is no output; the outputs that there are.
[[nodiscard]] Result<ScoredOutputs> scored_outputs(const Graph& graph, const Metric& metric);

/// `example` with one more input, kExpectedInput, and the reward, a tensor [1], as its one output. Values of what
/// depends on the groups in `varying` (not given: on any parameter) are left out, and need not be in `example`. Errors:
/// the metric's; a metric without a traced form.
[[nodiscard]] Result<TracedExample> scored_example(const TracedExample& example, const Metric& metric,
                                                   const Value& expected,
                                                   std::optional<std::span<const std::string>> varying = std::nullopt);

}  // namespace yolk::hyper
