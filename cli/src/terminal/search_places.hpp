// SPDX-License-Identifier: Apache-2.0
// Where a search ran, as text at its end.
#pragma once

#include "yolk/optimize.hpp"

namespace yolk::cli {

/// The share of each device and rank, where there are several, and the search's notes.
void print_places(const hyper::OptimizeOutcome& outcome);

}  // namespace yolk::cli
