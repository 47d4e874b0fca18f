// SPDX-License-Identifier: Apache-2.0
// An example whose output is its reward: the metric's equations behind the system's.
#pragma once

#include <map>
#include <span>
#include <string>

#include "yolk/hyper/metric.hpp"
#include "yolk/hyper/population.hpp"

namespace yolk::hyper {

/// The input that holds the expected value in such a graph; no system's own has a name with a line break.
inline constexpr const char* kExpectedInput = "expected\n";

/// `example` with one more input, kExpectedInput, and the reward, a tensor [1], as its one output. Values of what
/// depends on a parameter are left out. Errors: the metric's; a metric without a traced form.
[[nodiscard]] Result<TracedExample> scored_example(const TracedExample& example, const Metric& metric,
                                                   const Value& expected);

/// New inputs of the same types: what depends on none of `varying` groups is evaluated again; host functions are not
/// called. Errors: an input that is missing or of another type, an equation's; the example is then as it was.
[[nodiscard]] Result<void> refresh(TracedExample& example, const std::map<std::string, Value>& inputs,
                                   std::span<const std::string> varying);

/// Rewards of scored examples are their outputs.
[[nodiscard]] Metric output_as_reward(std::string name);

}  // namespace yolk::hyper
