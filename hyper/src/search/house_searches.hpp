// SPDX-License-Identifier: Apache-2.0
// The searches of the house.
#pragma once

#include <memory>

#include "objective.hpp"
#include "yolk/optimize.hpp"

namespace yolk::hyper {

/// A run of evolve, whose evaluator the objective is: by the objective's device, or over several, ranks, or the host.
/// On one device the mean stays there from generation to generation, and the host sees host_rows() of it.
[[nodiscard]] std::unique_ptr<Search> eggroll(SystemObjective& objective);
/// By derivatives, and by EGGROLL for optimized groups that are not trained by them (OptimizeOptions::gradient).
[[nodiscard]] std::unique_ptr<Search> gradient_search(SystemObjective& objective);

}  // namespace yolk::hyper
