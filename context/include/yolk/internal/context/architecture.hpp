// SPDX-License-Identifier: Apache-2.0
// Which devices are alike enough that a choice of one is a good guess for another.
#pragma once

#include <cstdint>
#include <string>

#include "yolk/internal/context/tuning_key.hpp"

namespace yolk {

/// "NVIDIA Ampere GA10x", "AMD RDNA 2", "CPU driver 10005:0000". A GPU's is known by its vendor and the block of device
/// ids that the vendor gave to the architecture; empty where the block is not in our table: no claim is made then. A
/// CPU driver's is its own ids, on whatever processor. A pure function of DeviceKey::device.
[[nodiscard]] std::string architecture_of(const DeviceKey& key);

/// Both known, and the same.
[[nodiscard]] bool same_architecture(const DeviceKey& a, const DeviceKey& b);

/// The same driver in the same version and the same subgroup size, whatever device it drives.
[[nodiscard]] bool same_driver(const DeviceKey& a, const DeviceKey& b);

}  // namespace yolk
