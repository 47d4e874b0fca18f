// SPDX-License-Identifier: Apache-2.0
// Exact twin of the noise kernel (docs/kernels/noise.md).
#pragma once

#include <cstdint>
#include <vector>

#include "yolk/core/noise.hpp"
#include "yolk/primitives/noise.hpp"

namespace yolk::reference {

/// Exact twins: block by block with the host's Philox, [pair_count, element_count] from pair stream.pair on.
[[nodiscard]] std::vector<std::int32_t> noise_i32_twin(const NoiseDesc& desc, const NoiseStream& stream);
[[nodiscard]] std::vector<float> noise_f32_twin(const NoiseDesc& desc, const NoiseStream& stream);

/// Whether a member adds its pair's noise; without antithetic sampling each one adds its own.
[[nodiscard]] inline bool is_plus_side(bool antithetic, std::int32_t member) { return !antithetic || member % 2 == 0; }

}  // namespace yolk::reference
