// SPDX-License-Identifier: Apache-2.0
// Pools of two devices, and devices that may fail.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "yolk/internal/evolve/device_pool.hpp"
#include "yolk/internal/runtime/probe.hpp"
#include "yolk/internal/testing/device_test.hpp"

namespace yolk::hyper {

inline const Device& one_device() { return yolk::testing::first_device().device; }
inline const Device& another_device() { return yolk::testing::other_device().device; }

/// A device of its own, which faults may take away without the other tests' losing theirs.
inline Result<Device> mortal_device(const std::string& name) {
    YOLK_TRY(const Device device, Device::create(yolk::testing::instance(), yolk::testing::device_index(name)));
    YOLK_TRY_VOID(probe(device));
    return device;
}

struct RankDevice {
    Device device;
    Dispatcher dispatcher;
};
/// One for each rank that is a thread, of the two devices by turns: the validation layer does not stand threads that
/// share one (docs/quirks.md).
inline Result<std::vector<RankDevice>> devices_of_ranks(std::uint32_t count) {
    std::vector<RankDevice> devices;
    for (std::uint32_t rank = 0; rank < count; ++rank) {
        YOLK_TRY(Device device, mortal_device(rank % 2 == 0 ? yolk::testing::first_device_name()
                                                            : yolk::testing::other_device_name()));
        YOLK_TRY(Dispatcher dispatcher, Dispatcher::create(device));
        devices.push_back({.device = std::move(device), .dispatcher = std::move(dispatcher)});
    }
    return devices;
}

/// Notices go to `notices`.
inline Result<evolve::DevicePool> pool_of(std::vector<Device> devices, std::string& notices,
                                          evolve::DevicePoolOptions options = {}) {
    options.on_drop = [&notices](const std::string& notice) { notices += notice; };
    return evolve::DevicePool::create(devices, options);
}

}  // namespace yolk::hyper
