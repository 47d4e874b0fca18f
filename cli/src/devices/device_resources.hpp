// SPDX-License-Identifier: Apache-2.0
// A device's memory and queues, as `yolk devices` shows them.
#pragma once

#include <string>

#include "yolk/internal/runtime/device_info.hpp"
#include "yolk/internal/runtime/memory_type.hpp"
#include "yolk/json.hpp"

namespace yolk::cli {

/// "10 GiB of its own in 3 heap(s), 5 memory type(s); budget: used 1 GiB of 9.2 GiB"; `policy` is the settled one.
[[nodiscard]] std::string memory_text(const DeviceInfo& info, MemoryPolicy policy);
/// "family 2 of 4, compute without graphics".
[[nodiscard]] std::string queue_text(const DeviceInfo& info);
[[nodiscard]] Json heaps_json(const DeviceInfo& info);
[[nodiscard]] Json memory_types_json(const DeviceInfo& info);
[[nodiscard]] Json queue_families_json(const DeviceInfo& info);

}  // namespace yolk::cli
