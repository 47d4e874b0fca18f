// SPDX-License-Identifier: Apache-2.0
// Host results for the noise kernel (docs/kernels/noise.md).
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "yolk/core/noise.hpp"
#include "yolk/oracle/family.hpp"
#include "yolk/primitives/noise.hpp"

namespace yolk::oracle {

/// Exact twins: block by block with the host's Philox, [pair_count, element_count] from pair stream.pair on.
[[nodiscard]] std::vector<std::int32_t> noise_i32_twin(const NoiseDesc& desc, const NoiseStream& stream);
[[nodiscard]] std::vector<float> noise_f32_twin(const NoiseDesc& desc, const NoiseStream& stream);

/// The oracle's integer element `index` of the stream of pair stream.pair: Philox in 16-bit limbs with a closed-form
/// key schedule, one element at a time, the fields summed by counting bits. Shares no code with yolk/core/philox.hpp.
[[nodiscard]] std::int32_t noise_oracle(const NoiseStream& stream, std::uint32_t index);
/// The float form in double: the integer over sqrt(85).
[[nodiscard]] double noise_f32_oracle(const NoiseStream& stream, std::uint32_t index);

/// Whether a member adds its pair's noise; without antithetic sampling each one adds its own.
[[nodiscard]] inline bool is_plus_side(bool antithetic, std::int32_t member) { return !antithetic || member % 2 == 0; }

/// A problem of this description, for tuning and timing.
[[nodiscard]] std::unique_ptr<Problem> make_noise_problem(const NoiseDesc& desc);

}  // namespace yolk::oracle
