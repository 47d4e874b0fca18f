// SPDX-License-Identifier: Apache-2.0
// Choosing a device: pure functions of DeviceInfo.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "yolk/internal/runtime/device_info.hpp"
#include "yolk/result.hpp"

namespace yolk {

/// What the device lacks of the portable floor (Vulkan 1.2, timeline semaphores, scalar block layout, a compute queue,
/// 256 invocations, 32 KiB shared, 128-byte push constants, 128 MiB bindings, 64 KiB uniform range...); empty where it
/// is met. Each entry reads "shared memory of 16384 bytes (32768 needed)".
[[nodiscard]] std::vector<std::string> missing_from_floor(const DeviceInfo& device);

/// Higher is better; discrete before integrated before virtual before CPU, then memory. 0 for a device below the floor.
[[nodiscard]] std::uint64_t score(const DeviceInfo& device);

struct Rejection {
    std::uint32_t index = 0;
    std::string name;
    std::string reason;  ///< below the floor (with what it lacks), not what was asked for, or lower score
};

struct DeviceChoice {
    std::uint32_t index = 0;
    std::vector<Rejection> rejections;
};

/// `request`: empty for the best device, or an index, a UUID, or a part of a name (case ignored; ambiguous parts choose
/// the best match). Errors: no device at all (says what to install), unknown request (lists what there is), device
/// below the floor (named, with what it lacks).
[[nodiscard]] Result<DeviceChoice> choose_device(std::span<const DeviceInfo> devices, const std::string& request);

/// A path above the portable floor and whether this device opens it: {"fp16", true}, {"int8-dot", false}, ...
struct OptionalPath {
    std::string name;
    bool open = false;
    std::string needs;  ///< the features it depends on, for people
};
[[nodiscard]] std::vector<OptionalPath> optional_paths(const DeviceInfo& device);

}  // namespace yolk
