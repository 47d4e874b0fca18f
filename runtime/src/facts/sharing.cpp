// SPDX-License-Identifier: Apache-2.0
#include "yolk/internal/runtime/sharing.hpp"

#include <fmt/format.h>

#include <vector>

namespace yolk {
namespace {

constexpr HandleType kHandleTypes[] = {HandleType::OpaqueFd, HandleType::DmaBuf, HandleType::HostPointer};

std::string listed(const SharingSupport& sharing, bool HandleSupport::*way) {
    std::vector<std::string> names;
    for (const HandleType type : kHandleTypes) {
        if (!(support_of(sharing, type).*way)) continue;
        const bool pointer = type == HandleType::HostPointer;
        names.push_back(
            pointer ? fmt::format("{} (in multiples of {} bytes)", to_string(type), sharing.host_pointer_alignment)
                    : std::string(to_string(type)));
    }
    return names.empty() ? "nothing" : fmt::format("{}", fmt::join(names, ", "));
}

const char* timelines_text(const HandleSupport& timeline) {
    if (timeline.can_export && timeline.can_import) return "exports and imports timeline semaphores";
    if (timeline.can_export) return "exports timeline semaphores";
    return timeline.can_import ? "imports timeline semaphores" : "shares no timeline semaphore";
}

Error lacking(const DeviceInfo& device, const std::string& action) {
    return unsupported("Device '{}' cannot {}. It {}.", device.name, action, sharing_text(device.sharing));
}

}  // namespace

const HandleSupport& support_of(const SharingSupport& sharing, HandleType type) noexcept {
    switch (type) {
        case HandleType::OpaqueFd: return sharing.opaque_fd;
        case HandleType::DmaBuf: return sharing.dma_buf;
        case HandleType::HostPointer: break;
    }
    return sharing.host_pointer;
}

std::string sharing_text(const SharingSupport& sharing) {
    return fmt::format("exports memory as {}; imports {}; {}", listed(sharing, &HandleSupport::can_export),
                       listed(sharing, &HandleSupport::can_import), timelines_text(sharing.timeline));
}

Result<void> check_memory_export(const DeviceInfo& device, HandleType type, std::string_view what) {
    if (support_of(device.sharing, type).can_export) return {};
    return lacking(device, fmt::format("export {} as {}", what, to_string(type)));
}

Result<void> check_memory_import(const DeviceInfo& device, HandleType type, std::string_view what) {
    if (support_of(device.sharing, type).can_import) return {};
    return lacking(device, fmt::format("import {} from {}", what, to_string(type)));
}

Result<void> check_timeline_export(const DeviceInfo& device, std::string_view what) {
    if (device.sharing.timeline.can_export) return {};
    return lacking(device, fmt::format("export {}", what));
}

Result<void> check_timeline_import(const DeviceInfo& device, std::string_view what) {
    if (device.sharing.timeline.can_import) return {};
    return lacking(device, fmt::format("import {}", what));
}

Result<void> check_origin(const DeviceInfo& device, const HandleOrigin& origin, std::string_view what) {
    if (origin.device_uuid == device.uuid && origin.driver_uuid == device.driver_uuid) return {};
    return bad_input(
        "Device '{}' (UUID {}, driver {}) cannot import {}: the handle is of the device with UUID {} and driver {}. An "
        "opaque handle is for the device and the driver that it came from.",
        device.name, device.uuid, device.driver_uuid, what, origin.device_uuid, origin.driver_uuid);
}

}  // namespace yolk
