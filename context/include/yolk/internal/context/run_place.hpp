// SPDX-License-Identifier: Apache-2.0
// What the first line of a run's log tells about where it ran.
#pragma once

#include <span>
#include <string>

#include "yolk/device.hpp"
#include "yolk/internal/core/json_fwd.hpp"

namespace yolk {

/// As /proc/cpuinfo has it: "AMD EPYC 9R14".
[[nodiscard]] std::string processor_model();

/// Adds "device", "driver" and "driver_info" of the first, one at least, "processor", and of several "devices", with
/// "device" and "driver" of each.
void add_run_place(Json& settings, std::span<const Device> devices);

}  // namespace yolk
