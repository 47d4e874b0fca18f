// SPDX-License-Identifier: Apache-2.0
// How long a device may stand still before it is given up, where its dispatchers are left to the default.
#pragma once

#include <chrono>

#include "yolk/device.hpp"
#include "yolk/result.hpp"

namespace yolk {

/// The limit of dispatchers of this device that are made later with the default of DispatcherOptions::hang_limit, and
/// of the probe. Error (BadInput): below 1 ms. Set it before other threads use the device.
[[nodiscard]] Result<void> set_hang_limit(const Device& device, std::chrono::nanoseconds limit);

}  // namespace yolk
