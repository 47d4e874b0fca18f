// SPDX-License-Identifier: Apache-2.0
// Configurations that are worth a try before anything is known of a device: a few per family that together were good on
// the devices and shapes recorded. `yolk tune` measures them first; a plan never takes them, since nobody has proven
// them on the device at hand.
#pragma once

#include <string_view>
#include <vector>

#include "yolk/internal/context/knob_value.hpp"

namespace yolk::autotune {

/// What comes with Yolk for a family, in the order in which to try it; empty where there is nothing. Made of
/// autotune/data/portfolio.json, which says what it was recorded on.
[[nodiscard]] std::vector<StoredConfiguration> shipped_portfolio(std::string_view family);

}  // namespace yolk::autotune
