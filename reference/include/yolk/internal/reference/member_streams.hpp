// SPDX-License-Identifier: Apache-2.0
// What twins draw noise with.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "yolk/internal/core/noise.hpp"
#include "yolk/internal/primitives/parameters.hpp"

namespace yolk::reference {

/// The stream of a member, from 0 on, for the parameter of a description.
template <class Desc>
[[nodiscard]] NoiseStream member_stream(const Desc& desc, const NoiseContext& when, Domain domain,
                                        std::int32_t member) {
    return {.seed = when.seed,
            .parameter = desc.parameter.value,
            .domain = domain,
            .pair = static_cast<std::uint32_t>(member) / (desc.antithetic ? 2 : 1),
            .time = when.time};
}

/// The first `count` elements of a stream, integers in the type that is asked for.
template <class T>
[[nodiscard]] std::vector<T> noise_elements(const NoiseStream& stream, std::size_t count) {
    std::vector<T> elements(count);
    for (std::size_t first = 0; first < count; first += kNoiseElementsPerBlock) {
        const auto block = noise_block(stream, static_cast<std::uint32_t>(first / kNoiseElementsPerBlock));
        std::copy_n(block.begin(), std::min<std::size_t>(block.size(), count - first),
                    elements.begin() + static_cast<std::ptrdiff_t>(first));
    }
    return elements;
}

}  // namespace yolk::reference
