// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>

#include "yolk/optimizer.hpp"
#include "yolk/twin.hpp"

namespace yolk::reference {

/// 1 / (1 - beta^t), the power by squaring in double as the plan does it.
[[nodiscard]] inline double unbiased_by(float beta, std::uint64_t t) {
    double power = 1.0;
    for (auto square = static_cast<double>(beta); t != 0; t >>= 1U, square *= square) {
        if ((t & 1U) != 0) power *= square;
    }
    return 1.0 / (1.0 - power);
}

/// Kingma and Ba 2015, Algorithm 1, on an ascent direction; at step t, from 1 on. Updates m and v.
template <class Number>
[[nodiscard]] Number adam_direction(const OptimizerDesc& desc, Number g, Number& m, Number& v, std::uint64_t t) {
    constexpr float kLargestGradient = 0x1p48F;
    const Number beta1(desc.beta1), beta2(desc.beta2), one(1.0F);
    g = clamped(g, kLargestGradient);
    m = flush(beta1 * m) + flush((one - beta1) * g);
    v = flush(beta2 * v) + flush((one - beta2) * flush(g * g));
    const Number unbiased_m = flush(m * Number::rounded(unbiased_by(desc.beta1, t)));
    const Number unbiased_v = flush(v * Number::rounded(unbiased_by(desc.beta2, t)));
    return flush(unbiased_m * reciprocal(root(unbiased_v) + Number(desc.epsilon)));
}

/// An element with something that is not finite stays, and is counted.
template <class Number>
void formula(const OptimizerDesc& desc, const HostViews& views, float learning_rate, std::uint32_t step) {
    const auto gradient = views.in<Number>(0);
    const auto parameters = views.out<Number>(1), state = views.out<Number>(2);
    const std::size_t arrays = optimizer_state_arrays(desc.rule);
    std::uint32_t skipped = 0;
    for (std::size_t i = 0; i < parameters.size(); ++i) {
        const Number g = flush(gradient[i]);
        Number direction = g;
        Number m = arrays > 0 ? state[i] : Number();
        Number v = arrays > 1 ? state[parameters.size() + i] : Number();
        if (desc.rule == OptimizerRule::Momentum) direction = m = flush(Number(desc.beta1) * m) + g;
        if (desc.rule == OptimizerRule::Adam) direction = adam_direction(desc, g, m, v, std::uint64_t{step} + 1);
        const Number moved = parameters[i] + flush(Number(learning_rate) * direction);
        if (!is_finite(g) || !is_finite(m) || !is_finite(v) || !is_finite(moved)) {
            ++skipped;
            continue;
        }
        if (arrays > 0) state[i] = m;
        if (arrays > 1) state[parameters.size() + i] = v;
        parameters[i] = flush_operand(moved);
    }
    for (std::uint32_t& count : views.out<std::uint32_t>(3)) count += skipped;
}

}  // namespace yolk::reference
