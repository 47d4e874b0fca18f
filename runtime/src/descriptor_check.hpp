// SPDX-License-Identifier: Apache-2.0
// Descriptors that come from outside, before and after a driver has seen them.
#pragma once

#include <cstdint>
#include <string_view>

#include "yolk/core/descriptor.hpp"
#include "yolk/core/result.hpp"
#include "yolk/runtime/device_info.hpp"

namespace yolk {

/// BadInput for a descriptor that is closed, that cannot be memory, or whose file is shorter than `bytes`. Drivers on
/// the host's memory read and map the file without a look at it, so that a pipe would stop them and a short file would
/// end the process; their handles are files with a size. Of a GPU's driver only what has a size is compared.
[[nodiscard]] Result<void> check_memory_descriptor(DeviceKind kind, int fd, std::uint64_t bytes, std::string_view what);

/// BadInput for a descriptor that is closed.
[[nodiscard]] Result<void> check_open(int fd, std::string_view what);

/// Another descriptor of the same file, for a driver, which closes it. Error: Io.
[[nodiscard]] Result<Descriptor> duplicate(int fd, std::string_view what);

/// After a driver has refused `given`, a duplicate of `original`: it must be closed, unless the driver has done so
/// (lavapipe 22.3 does) and the number may be another file's by now.
void close_refused(Descriptor given, int original) noexcept;

/// The driver has taken it.
inline void leave_to_driver(Descriptor given) noexcept { static_cast<void>(given.release()); }

}  // namespace yolk
