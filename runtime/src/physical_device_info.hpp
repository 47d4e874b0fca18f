// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <volk.h>

#include "yolk/core/result.hpp"
#include "yolk/runtime/device_info.hpp"

namespace yolk {

/// Asks the driver for everything that DeviceInfo holds. Features that Vulkan 1.2 knows are asked of 1.2 drivers only;
/// on older ones the features stay false, which the floor then rejects by name.
[[nodiscard]] Result<DeviceInfo> physical_device_info(VkPhysicalDevice device, std::uint32_t index);

}  // namespace yolk
