// SPDX-License-Identifier: Apache-2.0
// Specialization constants of a module with other defaults: for modules whose types depend on constants, which the
// validation layer may judge by the defaults, whatever a pipeline gives (docs/quirks.md).
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "yolk/internal/shaders/kernel.hpp"

namespace yolk {

/// The same module, in which each of `constants` is the default of the specialization constant with its id. Scalars of
/// 32 bits and booleans; ids that the module does not have are passed over.
[[nodiscard]] std::vector<std::uint32_t> with_default_constants(std::span<const std::uint32_t> spirv,
                                                                std::span<const SpecConstant> constants);

}  // namespace yolk
