// SPDX-License-Identifier: Apache-2.0
// Pools of both test drivers, and devices that may fail.
#pragma once

#include <array>
#include <string>
#include <vector>

#include "yolk/evolve/device_pool.hpp"
#include "yolk/runtime/probe.hpp"
#include "yolk/testing/device_test.hpp"

namespace yolk::hyper {

inline const Device& lavapipe() { return yolk::testing::shared_device("lavapipe").device; }
inline const Device& swiftshader() { return yolk::testing::shared_device("swiftshader").device; }

/// A device of its own, which faults may take away without the other tests' losing theirs.
inline Result<Device> mortal_device(const std::string& name) {
    YOLK_TRY(const Device device, Device::create(yolk::testing::instance(), yolk::testing::device_index(name)));
    YOLK_TRY_VOID(probe(device));
    return device;
}

/// Notices go to `notices`.
inline Result<evolve::DevicePool> pool_of(std::vector<Device> devices, std::string& notices,
                                          evolve::DevicePoolOptions options = {}) {
    options.on_drop = [&notices](const std::string& notice) { notices += notice; };
    return evolve::DevicePool::create(devices, options);
}

}  // namespace yolk::hyper
