// SPDX-License-Identifier: Apache-2.0
// What a device can share with others, and whether a handle is for it: pure functions of DeviceInfo.
#pragma once

#include <string>
#include <string_view>

#include "yolk/internal/runtime/device_info.hpp"
#include "yolk/result.hpp"

namespace yolk {

[[nodiscard]] const HandleSupport& support_of(const SharingSupport& sharing, HandleType type) noexcept;

/// "exports memory as opaque file descriptor; imports opaque file descriptor, host pointer (in multiples of 4096
/// bytes); shares no timeline semaphore".
[[nodiscard]] std::string sharing_text(const SharingSupport& sharing);

/// Unsupported where the device lacks it; the message says what it has instead. `what` is the object: "the buffer [a]".
[[nodiscard]] Result<void> check_memory_export(const DeviceInfo& device, HandleType type, std::string_view what);
[[nodiscard]] Result<void> check_memory_import(const DeviceInfo& device, HandleType type, std::string_view what);
[[nodiscard]] Result<void> check_timeline_export(const DeviceInfo& device, std::string_view what);
[[nodiscard]] Result<void> check_timeline_import(const DeviceInfo& device, std::string_view what);

/// Whose memory or semaphore a handle is; hexadecimal, as in DeviceInfo.
struct HandleOrigin {
    std::string device_uuid;
    std::string driver_uuid;
};

/// BadInput where an opaque handle comes from another device or driver: it means nothing there.
[[nodiscard]] Result<void> check_origin(const DeviceInfo& device, const HandleOrigin& origin, std::string_view what);

}  // namespace yolk
