// SPDX-License-Identifier: Apache-2.0
// The outputs of a trace.
#pragma once

#include "yolk/internal/hyper/population.hpp"

namespace yolk::hyper {

/// Where the output is a record that the trace packs: its fields become outputs with their names, and the equation goes
/// where nothing else reads it, with its variable.
void dissolve_pack(TracedExample& trace);

}  // namespace yolk::hyper
