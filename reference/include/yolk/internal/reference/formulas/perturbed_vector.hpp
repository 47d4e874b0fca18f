// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cmath>
#include <cstddef>
#include <cstdint>

#include "yolk/internal/reference/member_streams.hpp"
#include "yolk/internal/reference/member_weights.hpp"
#include "yolk/perturbed_vector.hpp"
#include "yolk/twin.hpp"

namespace yolk::reference {

template <class Number>
void formula(const PerturbedVectorDesc& desc, const HostViews& views, const NoiseContext& when,
             OrDefault<std::int32_t> first_member) {
    const auto vector = views.in<Number>(0);
    const auto output = views.out<Number>(1);
    const double sigma = static_cast<double>(when.sigma) / std::sqrt(static_cast<double>(kNoiseVariance));
    const Number rounded = flush_operand(Number::rounded(sigma));
    const std::size_t count = desc.element_count;
    for (std::uint32_t m = 0; m < desc.members; ++m) {
        const std::int32_t member = first_member.value + static_cast<std::int32_t>(m);
        const Number side = is_plus_side(desc.antithetic, member) ? rounded : -rounded;
        const Number scale = desc.frozen || member < 0 ? Number() : side;
        const auto noise = noise_elements<Number>(member_stream(desc, when, Domain::Vector, member), count);
        for (std::size_t i = 0; i < count; ++i) output[m * count + i] = flush_operand(vector[i]) + scale * noise[i];
    }
}

}  // namespace yolk::reference
