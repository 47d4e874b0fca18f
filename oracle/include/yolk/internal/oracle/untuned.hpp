// SPDX-License-Identifier: Apache-2.0
// What a plan takes without a tuning table.
#pragma once

#include "yolk/internal/oracle/family.hpp"

namespace yolk::oracle {

/// The heuristic's configuration, or the nearest one that can be planned; the heuristic's where none can. Error
/// (DeviceLost).
[[nodiscard]] Result<Configuration> untuned_configuration(const Device& device, const Problem& problem);

}  // namespace yolk::oracle
