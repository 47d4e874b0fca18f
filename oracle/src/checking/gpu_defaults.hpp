// SPDX-License-Identifier: Apache-2.0
// What plans take on GPUs by default, which no plan takes on a CPU driver: for a check there, so that it runs
// somewhere. Pure functions of plain data.
#pragma once

#include <cstddef>
#include <vector>

#include "yolk/internal/oracle/family.hpp"
#include "yolk/internal/runtime/device_info.hpp"

namespace yolk::oracle {

/// `cpu`, with what defaults look at as on GPUs of several architectures. Limits and features that open paths stay,
/// since what is chosen shall run on `cpu`.
[[nodiscard]] std::vector<DeviceInfo> gpus_like(const DeviceInfo& cpu);

/// Problems as GPUs meet them: the family's benchmarks and Family::large.
[[nodiscard]] Problems shapes_of_gpus(const Family& family);

/// A configuration with the problem that runs it.
struct GpuDefault {
    std::size_t problem = 0;
    Configuration configuration;
};

/// What plans of `shapes` take on GPUs, once for each kind of shape (TuningShape::variant), which has its own kernels;
/// once in all of a family whose configurations are to meet one case each. The problem of that kind that computes the
/// most takes it, so that the tiles of large shapes are filled; where none of the kind has it in its space, one of
/// another kind; where none at all has it, it is left out. Then what plans of `problems` take on GPUs, by themselves,
/// where it is not among those. Nothing that a problem takes on `cpu` anyway.
[[nodiscard]] std::vector<GpuDefault> defaults_of_gpus(const DeviceInfo& cpu, const Family& family,
                                                       const Problems& problems, const Problems& shapes);

}  // namespace yolk::oracle
