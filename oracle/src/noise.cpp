// SPDX-License-Identifier: Apache-2.0
#include "yolk/oracle/noise.hpp"

#include <array>
#include <bit>
#include <cmath>
#include <cstddef>

#include "yolk/abi/noise_scale.h"

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

// The paper's definition (Salmon et al. 2011, section 3.3): two lanes of left and right halves, S-box by
// multiplication, key bumped by Weyl constants, written with the halves named instead of as a word array.
std::array<std::uint32_t, 4> philox_oracle(std::uint32_t block, const NoiseStream& stream) {
    std::uint32_t r0 = block, l0 = stream.parameter + static_cast<std::uint32_t>(stream.domain) * 0x1000000U;
    std::uint32_t r1 = stream.pair, l1 = stream.time;
    for (std::uint32_t round = 0; round < 10; ++round) {
        const std::uint32_t key0 = static_cast<std::uint32_t>(stream.seed) + round * 2654435769U;
        const std::uint32_t key1 = static_cast<std::uint32_t>(stream.seed >> 32U) + round * 3144134277U;
        const WideProduct p0 = multiply(r0, 3528531795U);
        const WideProduct p1 = multiply(r1, 3449720151U);
        r0 = p1.high ^ l0 ^ key0;
        r1 = p0.high ^ l1 ^ key1;
        l0 = p1.low;
        l1 = p0.low;
    }
    return {r0, l0, r1, l1};
}

// Calls element(flat index, noise) for [pair_count, element_count].
template <class Element>
void for_each_element(const NoiseDesc& desc, NoiseStream stream, Element&& element) {
    std::size_t flat = 0;
    for (std::uint32_t p = 0; p < desc.pair_count; ++p, ++stream.pair) {
        const std::size_t end = flat + desc.element_count;
        for (std::uint32_t block = 0; flat < end; ++block) {
            for (const std::int8_t noise : noise_block(stream, block)) {
                if (flat < end) element(flat++, noise);
            }
        }
    }
}

}  // namespace

std::vector<std::int32_t> noise_i32_twin(const NoiseDesc& desc, const NoiseStream& stream) {
    std::vector<std::int32_t> out(std::size_t{desc.element_count} * desc.pair_count);
    for_each_element(desc, stream, [&](std::size_t flat, std::int8_t noise) { out[flat] = noise; });
    return out;
}

std::vector<float> noise_f32_twin(const NoiseDesc& desc, const NoiseStream& stream) {
    const auto scale = std::bit_cast<float>(abi::noise::kNoiseScaleBits);
    std::vector<float> out(std::size_t{desc.element_count} * desc.pair_count);
    for_each_element(desc, stream,
                     [&](std::size_t flat, std::int8_t noise) { out[flat] = static_cast<float>(noise) * scale; });
    return out;
}

std::int32_t noise_oracle(const NoiseStream& stream, std::uint32_t index) {
    const std::uint32_t within = index % 8;
    const std::uint32_t half = (philox_oracle(index / 8, stream)[within / 2] >> (within % 2 * 16)) & 0xFFFFU;
    const int sum = std::popcount(half & 0x1111U) + 2 * std::popcount(half & 0x2222U) +
                    4 * std::popcount(half & 0x4444U) + 8 * std::popcount(half & 0x8888U);
    return sum - 30;
}

double noise_f32_oracle(const NoiseStream& stream, std::uint32_t index) {
    return noise_oracle(stream, index) / std::sqrt(85.0);
}

}  // namespace yolk::oracle
