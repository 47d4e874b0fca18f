// SPDX-License-Identifier: Apache-2.0
// Oracle of the noise kernel (docs/kernels/noise.md).
#pragma once

#include <array>
#include <cstdint>

#include "yolk/internal/core/noise.hpp"

namespace yolk::oracle {

/// Philox4x32-10 by the paper's definition (Salmon et al. 2011, section 3.3), written apart from
/// yolk/internal/core/philox.hpp and from the kernels: products in 16-bit limbs, a closed-form key schedule, two lanes
/// of left and right halves.
[[nodiscard]] std::array<std::uint32_t, 4> philox_oracle(const std::array<std::uint32_t, 4>& counter,
                                                         const std::array<std::uint32_t, 2>& key);
/// The words of a stream's block by it.
[[nodiscard]] std::array<std::uint32_t, 4> noise_words_oracle(const NoiseStream& stream, std::uint32_t block);

/// The oracle's integer element `index` of the stream of pair stream.pair: one element at a time from
/// noise_words_oracle, the fields summed by counting bits. All oracles that need noise draw it from here.
[[nodiscard]] std::int32_t noise_oracle(const NoiseStream& stream, std::uint32_t index);
/// The float form in double: the integer over sqrt(85).
[[nodiscard]] double noise_f32_oracle(const NoiseStream& stream, std::uint32_t index);

}  // namespace yolk::oracle
