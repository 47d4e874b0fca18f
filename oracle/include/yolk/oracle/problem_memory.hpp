// SPDX-License-Identifier: Apache-2.0
// What a problem takes before it is made: shapes come from users, and its inputs are drawn on the host.
#pragma once

#include "yolk/core/result.hpp"
#include "yolk/oracle/family.hpp"
#include "yolk/runtime/device_info.hpp"

namespace yolk::oracle {

/// Error (OutOfMemory) where the problem's inputs and outputs, once on the device and `host_copies` times on the host,
/// are more than there is: of host memory (which a CPU driver's buffers are in, too), or of the device's largest heap.
/// Computed from work().bytes, without making anything; what is let through may still fail where it is made.
[[nodiscard]] Result<void> check_memory(const Problem& problem, const DeviceInfo& info, double host_copies);

}  // namespace yolk::oracle
