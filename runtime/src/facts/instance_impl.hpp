// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <volk.h>

#include <functional>
#include <vector>

#include "yolk/internal/runtime/instance.hpp"

namespace yolk {

struct Instance::Impl {
    VkInstance handle = VK_NULL_HANDLE;
    VkDebugUtilsMessengerEXT messenger = VK_NULL_HANDLE;  ///< null without a debug-utils extension
    bool has_debug_utils = false;                         ///< object names and labels may be set
    std::function<void(const ValidationMessage&)> on_message;
    std::vector<VkPhysicalDevice> physical_devices;  ///< same order as infos
    std::vector<DeviceInfo> infos;

    Impl() = default;
    Impl(const Impl&) = delete;
    Impl& operator=(const Impl&) = delete;
    ~Impl();
};

/// Loads the loader, once a process. Error: there is none (says what to install).
[[nodiscard]] Result<void> load_vulkan();

}  // namespace yolk
