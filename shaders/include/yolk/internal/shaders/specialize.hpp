// SPDX-License-Identifier: Apache-2.0
// Specializing a module before a driver sees it: constants set, loops unrolled, arrays turned into values. For kernels
// whose register tiles are loops over specialization constants (docs/adr/0008-tiles-are-unrolled-by-us.md).
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "yolk/internal/shaders/kernel.hpp"
#include "yolk/result.hpp"

namespace yolk {

/// The SPIR-V of `kernel` with `constants` in place and no specialization constant left; constants not given keep their
/// defaults. Floating-point operations marked `precise` keep their order and are not contracted. Thread-safe; takes 30
/// to 500 ms for a large tile. Error (Driver): SPIRV-Tools refused, with its message.
[[nodiscard]] Result<std::vector<std::uint32_t>> specialize(const KernelModule& kernel,
                                                            std::span<const SpecConstant> constants);

/// Changes when the same arguments may give other code: a hash of SPIRV-Tools' version and of the passes. For caches.
[[nodiscard]] std::uint64_t specializer_fingerprint();

}  // namespace yolk
