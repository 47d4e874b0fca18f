// SPDX-License-Identifier: Apache-2.0
// Exact twin of es_update (docs/kernels/es_update.md).
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "yolk/abi/fitness.h"
#include "yolk/primitives/es_update.hpp"

namespace yolk::reference {

/// The gradient's bits for int8 weights: element by element in 64-bit integers, whatever the configuration. `weights`:
/// one per pair.
[[nodiscard]] std::vector<float> es_update_twin(const EsUpdateDesc& desc, std::span<const std::int8_t> weights,
                                                const abi::fitness::Summary& summary, const NoiseContext& when);

}  // namespace yolk::reference
