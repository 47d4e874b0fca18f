// SPDX-License-Identifier: Apache-2.0
#include "yolk/optimizer.hpp"

#include <algorithm>
#include <cmath>

#include "twin_source.hpp"
#include "yolk/exact/exact_math.h"

namespace yolk::reference {

namespace {

constexpr float kLargestGradient = 0x1p48F;

float flushed_product(float x, float y) { return exact::exact_flush(x * y); }

/// 1 / (1 - beta^t), the power by squaring in double as the plan does it.
float unbias_twin(float beta, std::uint64_t t) {
    double power = 1.0;
    for (auto square = static_cast<double>(beta); t != 0; t >>= 1U, square *= square) {
        if ((t & 1U) != 0) power *= square;
    }
    return static_cast<float>(1.0 / (1.0 - power));
}

float adam_twin(const OptimizerDesc& desc, float g, float& m, float& v, float unbias1, float unbias2) {
    g = std::clamp(g, -kLargestGradient, kLargestGradient);
    m = flushed_product(desc.beta1, m) + flushed_product(1.0F - desc.beta1, g);
    v = flushed_product(desc.beta2, v) + flushed_product(1.0F - desc.beta2, flushed_product(g, g));
    const float denominator = exact::exact_sqrt(flushed_product(v, unbias2)) + desc.epsilon;
    return flushed_product(flushed_product(m, unbias1), exact::exact_reciprocal(denominator));
}

}  // namespace

void run_twin(const OptimizerDesc& desc, const HostViews& views, float learning_rate, std::uint32_t step) {
    const auto gradient = views.in<float>(0);
    const auto parameters = views.out<float>(1), state = views.out<float>(2);
    const std::uint64_t t = std::uint64_t{step} + 1;
    const float unbias1 = unbias_twin(desc.beta1, t);
    const float unbias2 = unbias_twin(desc.beta2, t);
    const std::size_t arrays = optimizer_state_arrays(desc.rule);
    std::uint32_t skipped = 0;
    for (std::size_t i = 0; i < parameters.size(); ++i) {
        const float g = exact::exact_flush(gradient[i]);
        float direction = g;
        float m = arrays > 0 ? state[i] : 0.0F;
        float v = arrays > 1 ? state[parameters.size() + i] : 0.0F;
        if (desc.rule == OptimizerRule::Momentum) direction = m = flushed_product(desc.beta1, m) + g;
        if (desc.rule == OptimizerRule::Adam) direction = adam_twin(desc, g, m, v, unbias1, unbias2);
        const float moved = parameters[i] + flushed_product(learning_rate, direction);
        if (!std::isfinite(g) || !std::isfinite(m) || !std::isfinite(v) || !std::isfinite(moved)) {
            ++skipped;
            continue;
        }
        if (arrays > 0) state[i] = m;
        if (arrays > 1) state[parameters.size() + i] = v;
        parameters[i] = exact::exact_flush_operand(moved);
    }
    for (std::uint32_t& count : views.out<std::uint32_t>(3)) count += skipped;
}
template struct Twin<OptimizerDesc>;

}  // namespace yolk::reference
