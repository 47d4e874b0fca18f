// SPDX-License-Identifier: Apache-2.0
// The noise of Yolk on the host: integers that are the same on every device by construction (docs/kernels/noise.md).
// An element is the sum of the four 4-bit fields of a Philox half word, minus 30: in [-30, 30], mean 0, variance 85.
#pragma once

#include <array>
#include <cstdint>

#include "yolk/internal/core/philox.hpp"

namespace yolk {

/// What a random number is for. Streams of different domains never meet.
enum class Domain : std::uint32_t {
    A = 0,
    B = 1,
    Vector = 2,
    Initialization = 3,
    Environment = 4,
    Data = 5,
    Policy = 6
};

inline constexpr std::uint32_t kNoiseElementsPerBlock = 8;
inline constexpr std::int32_t kNoiseMaximum = 30;
inline constexpr std::int32_t kNoiseVariance = 85;
/// Parameter ids share a counter word with the domain.
inline constexpr std::uint32_t kMaxParameterId = (1U << 24U) - 1U;

/// One stream of noise: everything of the counter but the block. `pair` is the episode or example in other domains;
/// `time` is generation / noise_reuse for domains A, B and Vector, the generation otherwise.
struct NoiseStream {
    std::uint64_t seed = 0;
    std::uint32_t parameter = 0;  ///< id, at most kMaxParameterId
    Domain domain = Domain::A;
    std::uint32_t pair = 0;
    std::uint32_t time = 0;
};

[[nodiscard]] constexpr PhiloxCounter philox_block(const NoiseStream& stream, std::uint32_t block) noexcept {
    return philox4x32(
        {block, stream.parameter | (static_cast<std::uint32_t>(stream.domain) << 24U), stream.pair, stream.time},
        {static_cast<std::uint32_t>(stream.seed), static_cast<std::uint32_t>(stream.seed >> 32U)});
}

/// Sum of the four 4-bit fields of the low 16 bits of `half_word`, minus 30.
[[nodiscard]] constexpr std::int32_t nibble_noise(std::uint32_t half_word) noexcept {
    return static_cast<std::int32_t>((half_word & 15U) + ((half_word >> 4U) & 15U) + ((half_word >> 8U) & 15U) +
                                     ((half_word >> 12U) & 15U)) -
           30;
}

/// Elements 8 * block ... 8 * block + 7 of the stream.
[[nodiscard]] constexpr std::array<std::int8_t, kNoiseElementsPerBlock> noise_block(const NoiseStream& stream,
                                                                                    std::uint32_t block) noexcept {
    const PhiloxCounter words = philox_block(stream, block);
    std::array<std::int8_t, kNoiseElementsPerBlock> elements{};
    for (std::uint32_t i = 0; i < kNoiseElementsPerBlock; ++i) {
        elements[i] = static_cast<std::int8_t>(nibble_noise(words[i / 2] >> (16U * (i % 2))));
    }
    return elements;
}

/// Element `index` of the stream; for a matrix of r columns, index = row * r + column.
[[nodiscard]] constexpr std::int32_t noise_element(const NoiseStream& stream, std::uint32_t index) noexcept {
    return noise_block(stream, index / kNoiseElementsPerBlock)[index % kNoiseElementsPerBlock];
}

}  // namespace yolk
