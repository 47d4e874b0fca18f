// SPDX-License-Identifier: Apache-2.0
// The noise of the oracles, written again from the paper: of the library's noise it knows the parts of a stream and
// nothing else. It must call neither yolk/internal/core/philox.hpp nor what kernels include.
#include <bit>
#include <cmath>

#include "philox_oracle.hpp"

namespace yolk::oracle {

namespace {

struct WideProduct {
    std::uint32_t high, low;
};

// Schoolbook multiplication in 16-bit limbs.
WideProduct multiply(std::uint32_t a, std::uint32_t b) {
    const std::uint32_t a0 = a & 0xFFFFU, a1 = a >> 16U, b0 = b & 0xFFFFU, b1 = b >> 16U;
    const std::uint32_t low = a0 * b0;
    const std::uint32_t middle = a1 * b0 + (low >> 16U);
    const std::uint32_t cross = a0 * b1 + (middle & 0xFFFFU);
    return {a1 * b1 + (middle >> 16U) + (cross >> 16U), (cross << 16U) | (low & 0xFFFFU)};
}

}  // namespace

std::array<std::uint32_t, 4> philox_oracle(const std::array<std::uint32_t, 4>& counter,
                                           const std::array<std::uint32_t, 2>& key) {
    auto [r0, l0, r1, l1] = counter;
    for (std::uint32_t round = 0; round < 10; ++round) {
        const std::uint32_t key0 = key[0] + round * 2654435769U;
        const std::uint32_t key1 = key[1] + round * 3144134277U;
        const WideProduct p0 = multiply(r0, 3528531795U);
        const WideProduct p1 = multiply(r1, 3449720151U);
        r0 = p1.high ^ l0 ^ key0;
        r1 = p0.high ^ l1 ^ key1;
        l0 = p1.low;
        l1 = p0.low;
    }
    return {r0, l0, r1, l1};
}

std::array<std::uint32_t, 4> noise_words_oracle(const NoiseStream& stream, std::uint32_t block) {
    const std::uint32_t purpose = stream.parameter + static_cast<std::uint32_t>(stream.domain) * 0x1000000U;
    return philox_oracle({block, purpose, stream.pair, stream.time},
                         {static_cast<std::uint32_t>(stream.seed % 0x100000000U),
                          static_cast<std::uint32_t>(stream.seed / 0x100000000U)});
}

std::int32_t noise_oracle(const NoiseStream& stream, std::uint32_t index) {
    const std::uint32_t within = index % 8;
    const std::uint32_t half = (noise_words_oracle(stream, index / 8)[within / 2] >> (within % 2 * 16)) & 0xFFFFU;
    const int sum = std::popcount(half & 0x1111U) + 2 * std::popcount(half & 0x2222U) +
                    4 * std::popcount(half & 0x4444U) + 8 * std::popcount(half & 0x8888U);
    return sum - 30;
}

double noise_f32_oracle(const NoiseStream& stream, std::uint32_t index) {
    return noise_oracle(stream, index) / std::sqrt(85.0);
}

}  // namespace yolk::oracle
