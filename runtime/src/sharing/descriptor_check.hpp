// SPDX-License-Identifier: Apache-2.0
// Descriptors that come from outside, before and after a driver has seen them.
#pragma once

#include <cstdint>
#include <mutex>
#include <string_view>

#include "yolk/internal/core/descriptor.hpp"
#include "yolk/internal/runtime/device_info.hpp"
#include "yolk/result.hpp"

namespace yolk {

/// BadInput for a descriptor that is closed, that cannot be memory, or whose file is shorter than `bytes`. Drivers on
/// the host's memory read and map the file without checking it: a pipe would block them, a short file would crash the
/// process. Their handles are files with a size. Of a GPU's driver only what has a size is compared.
[[nodiscard]] Result<void> check_memory_descriptor(DeviceKind kind, int fd, std::uint64_t bytes, std::string_view what);

/// BadInput for a descriptor that is closed.
[[nodiscard]] Result<void> check_open(int fd, std::string_view what);

/// Another descriptor of the same file, for a driver, which closes it. Error: Io.
[[nodiscard]] Result<Descriptor> duplicate(int fd, std::string_view what);

/// Held from duplicate() until the driver has answered and close_refused() has looked: two imports of one handle would
/// else take each other's duplicates for their own.
[[nodiscard]] std::unique_lock<std::mutex> hand_over();

/// After a Vulkan driver has refused `given`, a duplicate of `original`: it must be closed, unless the driver has done
/// so (lavapipe 22.3 does) and the number is another thread's by now. Closes it only where the kernel says that both
/// are one open file, so that only a duplicate that the caller makes of the same handle at this moment could be
/// mistaken. Where the kernel does not say (some containers forbid the question), a file of its own inode will do, and
/// any other descriptor stays open: a leak is better than another thread's file closed.
void close_refused(Descriptor given, int original) noexcept;

/// The driver has taken it.
inline void leave_to_driver(Descriptor given) noexcept { static_cast<void>(given.release()); }

}  // namespace yolk
