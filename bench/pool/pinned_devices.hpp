// SPDX-License-Identifier: Apache-2.0
// Two CPU drivers that share a machine without sharing its cores.
#pragma once

#include <vector>

#include "yolk/context.hpp"
#include "yolk/result.hpp"

namespace yolk::bench {

/// Opens the CPU drivers lavapipe and SwiftShader, in this order, and holds the threads of each to a core of its own:
/// the threads that appear while a device is opened and made to work are its driver's. Errors: fewer than two cores, a
/// driver that is missing.
[[nodiscard]] Result<std::vector<Context>> open_pinned();

}  // namespace yolk::bench
