// SPDX-License-Identifier: Apache-2.0
#include "yolk/reference/noise.hpp"

#include <bit>
#include <cstddef>

#include "yolk/abi/noise.h"

namespace yolk::reference {

namespace {

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

}  // namespace yolk::reference
