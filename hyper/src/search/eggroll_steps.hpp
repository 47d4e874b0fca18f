// SPDX-License-Identifier: Apache-2.0
// What EGGROLL's steps on one device and its runs over several, over ranks and on the host have in common.
#pragma once

#include "yolk/evolve/generation.hpp"
#include "yolk/hyper/optimize.hpp"

namespace yolk::hyper {

/// Of the generation that a step made; `centre` is the reward of the mean that it was made around.
[[nodiscard]] StepReport report_of(const evolve::GenerationSummary& summary, double centre);

}  // namespace yolk::hyper
