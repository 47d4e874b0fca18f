// SPDX-License-Identifier: Apache-2.0
// What a driver exports and imports, and the extensions that this takes.
#pragma once

#include <volk.h>

#include <cstdint>
#include <string_view>
#include <vector>

#include "yolk/internal/runtime/device_info.hpp"
#include "yolk/result.hpp"

namespace yolk {

[[nodiscard]] SharingSupport ask_sharing(VkPhysicalDevice device, const std::vector<VkExtensionProperties>& extensions);

/// How far values of one timeline semaphore may be apart.
[[nodiscard]] std::uint64_t ask_timeline_difference(VkPhysicalDevice device);

/// The error of an import. A driver that does not take the handle says so in words of its own; the result is then
/// BadInput, and says what a handle of this type must be. `has_room`: the heap has room for the import, so that a
/// driver that runs out of device memory there does not take the handle (NVIDIA 580.159 does so for every descriptor
/// that is not memory).
[[nodiscard]] Error refused_import(Error error, HandleType type, std::string_view what, bool has_room = false);

/// To be enabled for what is supported; literals.
[[nodiscard]] std::vector<const char*> sharing_extensions(const SharingSupport& sharing);

/// What is left of it on a device that was made from `info`; nothing where that is null.
[[nodiscard]] SharingSupport enabled_sharing(const SharingSupport& sharing, const VkDeviceCreateInfo* info);

}  // namespace yolk
