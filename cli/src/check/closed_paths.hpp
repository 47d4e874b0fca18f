// SPDX-License-Identifier: Apache-2.0
// What a check cannot run on a device: the optional paths of a kernel that are closed there, and why.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "yolk/internal/runtime/device_info.hpp"
#include "yolk/internal/runtime/low_precision.hpp"

namespace yolk::cli {

struct ClosedPath {
    std::string name;    ///< as `yolk devices` has it
    std::string reason;  ///< "needs shaderFloat16 ...", or what the self-check found
};

/// Of the kernel's paths of low precision those that are closed by the device's features, or by its self-check.
[[nodiscard]] std::vector<ClosedPath> closed_paths(std::string_view kernel, const DeviceInfo& info,
                                                   const std::vector<WrongPath>& wrong);

}  // namespace yolk::cli
