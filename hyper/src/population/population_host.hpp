// SPDX-License-Identifier: Apache-2.0
// What runs on the host.
#pragma once

#include <span>
#include <vector>

#include "yolk/core/result.hpp"
#include "yolk/hyper/executor.hpp"
#include "yolk/hyper/graph.hpp"

namespace yolk::hyper::population {

/// Overlapped on the pool; one after the other in the caller's thread where there is none.
[[nodiscard]] std::vector<Result<Value>> run_tasks(HostPool* pool, std::span<const HostTask> tasks);
/// An equation that has no lowering; what it throws becomes an error.
[[nodiscard]] Result<std::vector<Value>> evaluate_caught(const Equation& equation, std::span<const Value> operands);

}  // namespace yolk::hyper::population
