// SPDX-License-Identifier: Apache-2.0
#include "host_room.hpp"

#include <fmt/format.h>

#include "yolk/internal/core/memory.hpp"

namespace yolk {

std::string lacks_host_room(const DeviceInfo& device, std::uint64_t size_bytes) {
    const std::uint64_t room = device.kind == DeviceKind::Cpu ? kDriverRoomBytes : 0;
    const HostMemory host = host_memory();
    if (size_bytes <= host.available_bytes && host.available_bytes - size_bytes >= room) return {};
    const std::string driver =
        room == 0 ? std::string()
                  : fmt::format("{}the driver takes about {} of the process's memory to compile kernels",
                                size_bytes == 0 ? "" : "and ", size_text(room));
    const std::string buffer =
        size_bytes == 0 ? std::string() : fmt::format("{} are needed in the host's memory, ", size_text(size_bytes));
    return fmt::format("{}{}{}{} are left {}", buffer, driver, room == 0 ? "" : ", and ",
                       size_text(host.available_bytes), host.limited_by);
}

}  // namespace yolk
