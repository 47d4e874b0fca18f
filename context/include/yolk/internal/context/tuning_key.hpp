// SPDX-License-Identifier: Apache-2.0
// What a tuning result belongs to: a machine's device, its driver, a kernel family with its SPIR-V, and a shape.
#pragma once

#include <string>
#include <string_view>

#include "yolk/internal/runtime/device_info.hpp"
#include "yolk/internal/runtime/tuning_space.hpp"

namespace yolk {

/// A device in two parts. With equal `device` and another `driver` it is the same hardware under other software:
/// results are good guesses there, no more.
struct DeviceKey {
    /// Vendor and device ids, kind and name; for CPU drivers the processor's model instead of the name, since their
    /// ids and UUIDs do not tell machines apart and their names hold versions.
    std::string device;
    /// The driver's name, texts and versions, the subgroup size, and a hash of limits and features.
    std::string driver;
    friend bool operator==(const DeviceKey&, const DeviceKey&) = default;
};
[[nodiscard]] DeviceKey device_key(const DeviceInfo& info);
/// The same with a given processor model; a pure function.
[[nodiscard]] DeviceKey device_key(const DeviceInfo& info, std::string_view processor);

/// XXH3-128 over name and SPIR-V of every module that plans of the family may run: a result measured with other
/// modules is none.
[[nodiscard]] std::string kernel_hash(std::string_view family);

struct TuningKey {
    DeviceKey device;
    std::string family;
    TuningShape shape;
    std::string kernels;  ///< kernel_hash
    friend bool operator==(const TuningKey&, const TuningKey&) = default;
};
[[nodiscard]] TuningKey tuning_key(const DeviceInfo& info, const TuningSpace& space);

/// "matmul exact f32 f32 f32 [512, 512, 512, 1]".
[[nodiscard]] std::string shape_text(std::string_view family, const TuningShape& shape);

}  // namespace yolk
