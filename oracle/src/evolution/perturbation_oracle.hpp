// SPDX-License-Identifier: Apache-2.0
// What oracles of perturbed operations have in common: whose noise a member has, and how much of it.
#pragma once

#include <cmath>
#include <cstdint>
#include <span>
#include <vector>

#include "check_tools.hpp"
#include "yolk/internal/core/noise.hpp"
#include "yolk/internal/primitives/parameters.hpp"
#include "yolk/internal/reference/member_weights.hpp"
#include "yolk/perturbed_linear.hpp"

namespace yolk::oracle {

template <class Desc>
[[nodiscard]] NoiseStream stream_of(const Desc& desc, const NoiseContext& when, Domain domain, std::int32_t member) {
    return {.seed = when.seed,
            .parameter = desc.parameter.value,
            .domain = domain,
            .pair = static_cast<std::uint32_t>(member) / (desc.antithetic ? 2 : 1),
            .time = when.time};
}

/// sigma / sqrt(r) with its side, per unit-variance element of A and B; 0 for the mean.
template <class Desc>
[[nodiscard]] double member_sigma(const Desc& desc, const NoiseContext& when, std::int32_t member) {
    if (member < 0) return 0.0;
    return (reference::is_plus_side(desc.antithetic, member) ? 1.0 : -1.0) * static_cast<double>(when.sigma) /
           std::sqrt(static_cast<double>(desc.rank));
}

/// A member's weights in double, and the same sum with every term's magnitude: what the roundings of a dot product with
/// it are measured by.
struct MemberWeights {
    std::vector<double> values;
    std::vector<double> magnitudes;
};
[[nodiscard]] MemberWeights member_weights(const PerturbedLinearDesc& desc, std::span<const float> weights,
                                           const NoiseContext& when, std::int32_t member);

/// In [-1, 1), now and then an operand that the operand rule drops, one of them denormal.
[[nodiscard]] inline std::vector<float> drawn_operands(std::uint64_t seed, std::uint32_t stream, std::size_t count) {
    std::vector<float> values = Draws(seed, stream).uniforms(count, -1.0F, 1.0F);
    for (std::size_t i = 3; i < values.size(); i += 11) values[i] = i % 2 == 0 ? 0x1p-41F : -0x1p-130F;
    return values;
}

}  // namespace yolk::oracle
