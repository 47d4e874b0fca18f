// SPDX-License-Identifier: Apache-2.0
// From --device, --devices and $YOLK_DEVICE to open devices.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "options.hpp"
#include "yolk/context.hpp"
#include "yolk/device.hpp"
#include "yolk/result.hpp"

namespace yolk::cli {

/// The device of the flags, with the tuning table, but for --no-tuning. `options`: what else the context is to be.
[[nodiscard]] Result<Context> open_context(const CommonFlags& flags, ContextOptions options = {});
/// The same for commands that make their own dispatcher. It is probed, as each device that a context opens.
[[nodiscard]] Result<Device> open_device(const CommonFlags& flags);
/// The device of the flags as kernels are tuned on it: without the tuning table.
[[nodiscard]] Result<Device> open_untuned(CommonFlags flags);

/// The part of a list that a rank takes where the ranks of its machine share one.
struct DealtTo {
    std::uint32_t local_rank = 0;
    std::uint32_t local_ranks = 1;
};

/// `list`: "all" for every device above the floor, or requests separated by commas; empty: as open_device(flags)
/// chooses; several ranks on a machine share its GPUs then, where it has some. In the order of the list; one that is
/// named twice is an error. What is dealt are devices that execute kernels.
[[nodiscard]] Result<std::vector<Device>> open_devices(const std::string& list, const CommonFlags& flags,
                                                       const DealtTo& dealt = {});

/// "llvmpipe", "llvmpipe and SwiftShader Device"; with their drivers in brackets where asked for.
[[nodiscard]] std::string names_of(std::span<const Device> devices, bool with_drivers = false);
/// Their drivers in the same order, separated by commas.
[[nodiscard]] std::string drivers_of(std::span<const Device> devices);
/// Name and version of the driver: "llvmpipe Mesa 22.3.6 (LLVM 15.0.6)".
[[nodiscard]] std::string driver_text(const DeviceInfo& info);

}  // namespace yolk::cli
