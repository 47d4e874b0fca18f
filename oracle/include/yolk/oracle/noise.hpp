// SPDX-License-Identifier: Apache-2.0
// Host results for the noise kernel (docs/kernels/noise.md).
#pragma once

#include <array>
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

/// Philox4x32-10 by the paper's definition (Salmon et al. 2011, section 3.3), written apart from yolk/core/philox.hpp
/// and from the kernels: products in 16-bit limbs, a closed-form key schedule, two lanes of left and right halves.
[[nodiscard]] std::array<std::uint32_t, 4> philox_oracle(const std::array<std::uint32_t, 4>& counter,
                                                         const std::array<std::uint32_t, 2>& key);
/// The words of a stream's block by it.
[[nodiscard]] std::array<std::uint32_t, 4> noise_words_oracle(const NoiseStream& stream, std::uint32_t block);

/// The oracle's integer element `index` of the stream of pair stream.pair: one element at a time from
/// noise_words_oracle, the fields summed by counting bits. All oracles that need noise draw it from here.
[[nodiscard]] std::int32_t noise_oracle(const NoiseStream& stream, std::uint32_t index);
/// The float form in double: the integer over sqrt(85).
[[nodiscard]] double noise_f32_oracle(const NoiseStream& stream, std::uint32_t index);

/// Whether a member adds its pair's noise; without antithetic sampling each one adds its own.
[[nodiscard]] inline bool is_plus_side(bool antithetic, std::int32_t member) { return !antithetic || member % 2 == 0; }

/// A problem of this description, for tuning and timing.
[[nodiscard]] std::unique_ptr<Problem> make_noise_problem(const NoiseDesc& desc);

}  // namespace yolk::oracle
