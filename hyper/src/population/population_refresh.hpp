// SPDX-License-Identifier: Apache-2.0
// New data in a graph that is there already: what the trace would have refused is refused.
#pragma once

#include "yolk/hyper/population.hpp"

namespace yolk::hyper::population {

/// Errors: an id that depends on no parameter and is no whole number below its table's extent. Of ids that a candidate
/// steers, kernels and host see to it themselves.
[[nodiscard]] Result<void> check_ids(const TracedExample& example);

}  // namespace yolk::hyper::population
