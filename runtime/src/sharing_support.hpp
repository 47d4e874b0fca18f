// SPDX-License-Identifier: Apache-2.0
// What a driver exports and imports, and the extensions that this takes.
#pragma once

#include <volk.h>

#include <vector>

#include "yolk/runtime/device_info.hpp"

namespace yolk {

[[nodiscard]] SharingSupport ask_sharing(VkPhysicalDevice device, const std::vector<VkExtensionProperties>& extensions);

/// To be enabled for what is supported; literals.
[[nodiscard]] std::vector<const char*> sharing_extensions(const SharingSupport& sharing);

/// What is left of it on a device that was made from `info`; nothing where that is null.
[[nodiscard]] SharingSupport enabled_sharing(const SharingSupport& sharing, const VkDeviceCreateInfo* info);

}  // namespace yolk
