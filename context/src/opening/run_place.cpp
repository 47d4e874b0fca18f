// SPDX-License-Identifier: Apache-2.0
#include "yolk/internal/context/run_place.hpp"

#include "yolk/json.hpp"

namespace yolk {

void add_run_place(Json& settings, std::span<const Device> devices) {
    const DeviceInfo& first = devices.front().info();
    settings["device"] = first.name;
    settings["driver"] = first.driver_name;
    settings["driver_info"] = first.driver_info;
    settings["processor"] = processor_model();
    if (devices.size() < 2) return;
    for (const Device& each : devices)
        settings["devices"].push_back({{"device", each.info().name}, {"driver", each.info().driver_name}});
}

}  // namespace yolk
