// SPDX-License-Identifier: Apache-2.0
// Exact twin of optimizer (docs/kernels/optimizer.md).
#pragma once

#include <cstdint>
#include <span>

#include "yolk/primitives/optimizer.hpp"

namespace yolk::reference {

/// One step in place, with the kernel's bits. `state`: as OptimizerViews::state. Returns how many elements it skipped,
/// as OptimizerViews::skipped.
std::uint32_t optimizer_twin(const OptimizerDesc& desc, std::span<const float> gradient, std::span<float> parameters,
                             std::span<float> state, float learning_rate, std::uint32_t step);

}  // namespace yolk::reference
