// SPDX-License-Identifier: Apache-2.0
#include "optimizer_oracle.hpp"

#include <cmath>

#include "error_bounds.hpp"

namespace yolk::oracle {

namespace {

/// A few flushes below 2^-100.
const double kStepFlushed = std::ldexp(1.0, -97);

/// beta m + share g: one rounding per product, one of the share itself, one of the sum.
OptimizerValue mixed(double beta, double m, double share, double g) {
    const double value = beta * m + share * g;
    return {value,
            kFp32Rounding * (std::abs(beta * m) + 2.0 * std::abs(share * g) + 1.01 * std::abs(value)) + kStepFlushed};
}

/// Kingma and Ba 2015, Algorithm 1, on an ascent direction. Relative errors in half ulps: v 4, its unbiasing 2, so 3
/// for the root, plus 1.7 of exact_sqrt; epsilon's addition 1; exact_reciprocal 2.2; the unbiasing of m and the last
/// product 3: together below 11.
OptimizerValue adam_direction(const OptimizerDesc& desc, const OptimizerValue& m, double v, double t) {
    const double unbias1 = 1.0 / (1.0 - std::pow(static_cast<double>(desc.beta1), t));
    const double unbias2 = 1.0 / (1.0 - std::pow(static_cast<double>(desc.beta2), t));
    const double denominator = std::sqrt(v * unbias2) + static_cast<double>(desc.epsilon);
    const double value = m.value * unbias1 / denominator;
    // A second moment that was flushed leaves the denominator short of its root.
    const double flushed = std::sqrt(kStepFlushed * unbias2) / denominator;
    return {value, m.tolerance * 1.01 * unbias1 / denominator + std::abs(value) * (11.0 * kFp32Rounding + flushed) +
                       kStepFlushed};
}

}  // namespace

OptimizerOracle optimizer_oracle(const OptimizerDesc& desc, std::span<const float> gradient,
                                 std::span<const float> parameters, std::span<const float> state, float learning_rate,
                                 std::uint32_t step) {
    OptimizerOracle oracle;
    oracle.state.resize(state.size());
    const auto beta1 = static_cast<double>(desc.beta1);
    const auto beta2 = static_cast<double>(desc.beta2);
    for (std::size_t i = 0; i < parameters.size(); ++i) {
        const auto g = static_cast<double>(gradient[i]);
        OptimizerValue direction{g, kStepFlushed};
        if (desc.rule == OptimizerRule::Momentum) {
            direction = oracle.state[i] = mixed(beta1, static_cast<double>(state[i]), 1.0, g);
        } else if (desc.rule == OptimizerRule::Adam) {
            const std::size_t second = parameters.size() + i;
            oracle.state[i] = mixed(beta1, static_cast<double>(state[i]), 1.0 - beta1, g);
            oracle.state[second] = mixed(beta2, static_cast<double>(state[second]), 1.0 - beta2, g * g);
            oracle.state[second].tolerance += kFp32Rounding * (1.0 - beta2) * g * g;  // the square's own rounding
            direction =
                adam_direction(desc, oracle.state[i], oracle.state[second].value, static_cast<double>(step) + 1.0);
        }
        const auto rate = static_cast<double>(learning_rate);
        const double value = static_cast<double>(parameters[i]) + rate * direction.value;
        const double tolerance = rate * direction.tolerance +
                                 kFp32Rounding * (1.01 * std::abs(rate * direction.value) + 1.01 * std::abs(value));
        oracle.parameters.push_back({value, tolerance + std::ldexp(1.0, -40)});  // a parameter below 2^-40 is made zero
    }
    return oracle;
}

}  // namespace yolk::oracle
