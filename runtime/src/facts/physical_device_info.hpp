// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <volk.h>

#include <string>
#include <string_view>
#include <vector>

#include "yolk/internal/runtime/device_info.hpp"
#include "yolk/result.hpp"

namespace yolk {

/// Asks the driver for everything that DeviceInfo holds; `instance` is the device's. Features that Vulkan 1.2 knows are
/// asked of 1.2 drivers only; on older ones the features stay false, which the floor then rejects by name.
[[nodiscard]] Result<DeviceInfo> physical_device_info(VkInstance instance, VkPhysicalDevice device,
                                                      std::uint32_t index);

/// `name` is the device's, for the error.
[[nodiscard]] Result<std::vector<VkExtensionProperties>> extensions_of(VkPhysicalDevice device,
                                                                       const std::string& name);
[[nodiscard]] bool contains(const std::vector<VkExtensionProperties>& list, std::string_view name);
/// Asks how much of each heap is left to this process, where the driver says so.
void fill_budgets(VkPhysicalDevice device, const DeviceFeatures& features, std::vector<MemoryHeapInfo>& heaps);

/// Appends `next` to a pNext chain and moves the tail on.
template <class Struct>
void chain(void**& tail, Struct& next) {
    *tail = &next;
    tail = &next.pNext;
}

}  // namespace yolk
