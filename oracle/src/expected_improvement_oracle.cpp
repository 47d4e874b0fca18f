// SPDX-License-Identifier: Apache-2.0
#include "expected_improvement_oracle.hpp"

#include <algorithm>
#include <cmath>
#include <numbers>

#include "error_bounds.hpp"
#include "yolk/reference/expected_improvement.hpp"

namespace yolk::oracle {

namespace {

constexpr double kLeastVariance = 1e-10;

/// z Phi(z) + phi(z).
double improvement(double z) {
    const double density = std::exp(-0.5 * z * z) / std::sqrt(2.0 * std::numbers::pi);
    return z * 0.5 * std::erfc(-z / std::numbers::sqrt2) + density;
}

OracleValue variance_of(const ExpectedImprovementDesc& desc, const reference::ExpectedImprovementInputs& inputs,
                        std::size_t c) {
    double variance = inputs.variances[c];
    double magnitude = std::abs(variance);
    double dropped = 0.0;
    for (std::size_t s = inputs.values.steps; s-- > 0;) {
        const double left = inputs.left[s * desc.stride + c];
        const double right = inputs.right[s * desc.stride + c];
        variance -= left * right;
        magnitude += std::abs(left * right);
        dropped += kOperandFloor * (std::abs(left) + std::abs(right) + kOperandFloor);
    }
    return {std::max(variance, kLeastVariance), (inputs.values.steps + 1.0) * kFp32Rounding * magnitude + dropped};
}

OracleValue gain_of(const reference::ExpectedImprovementInputs& inputs, std::size_t stride, std::size_t c,
                    OracleValue variance) {
    const ExpectedImprovementValues& v = inputs.values;
    const double value = inputs.scores[c];
    const double unit = inputs.scores[stride + c];
    const double mean = inputs.prior[c] + value + v.level - v.level * unit - v.mean_slack;
    const double magnitude = std::abs(inputs.prior[c]) + std::abs(value) + std::abs(v.level) * (1.0 + std::abs(unit)) +
                             std::abs(v.best) + std::abs(v.mean_slack);
    const double wide = variance.value + v.variance_slack;
    const double deviation = v.deviation * std::sqrt(wide);
    const double z = (v.best - mean) / deviation;
    // Seven roundings on the way to the gap; the root's relative error is half of its operand's, and 1e-7 its own.
    const double gap_error =
        7.0 * kFp32Rounding * magnitude + 5.0 * kOperandFloor * (1.0 + std::abs(v.level) + std::abs(unit));
    const double relative_deviation = 0.5 * (variance.tolerance + kFp32Rounding * wide) / wide + 2e-7;
    const double z_error = std::abs(z) * (2e-7 + 2.0 * kFp32Rounding);
    const double clamped = std::max(z, -11.0);
    const double slope = 0.5 * std::erfc(-std::max(z, -11.0) / std::numbers::sqrt2);
    const double density = std::exp(-0.5 * clamped * clamped) * 0.4;
    // Two approximations meet at 3: of the tail, off by 7.5e-8, and of what is left of the density, off by 1e-4 of it.
    const double a = std::abs(clamped);
    const double share = (a < 3.1 ? 7.5e-8 * a : 0.0) + (a > 2.9 ? 1e-4 * improvement(-a) : 0.0) +
                         16.0 * kFp32Rounding * (a + 1.0) * density;
    const double value_of_gain = v.stretch * deviation * improvement(clamped);
    const double spread_out = 1.0 + std::abs(clamped) * (gap_error / deviation + z_error);
    const double error = slope * (gap_error + deviation * z_error) * spread_out * spread_out +
                         deviation * relative_deviation * density * spread_out * spread_out + deviation * share +
                         std::abs(value_of_gain) * 16.0 * kFp32Rounding / v.stretch;
    return {value_of_gain, v.stretch * error + 0x1p-99};
}

}  // namespace

reference::ExpectedImprovementOutputs<OracleValue> expected_improvement_oracle(
    const ExpectedImprovementDesc& desc, const reference::ExpectedImprovementInputs& inputs) {
    reference::ExpectedImprovementOutputs<OracleValue> out;
    for (std::size_t c = 0; c < desc.count; ++c) {
        out.variances.push_back(variance_of(desc, inputs, c));
        out.gains.push_back(gain_of(inputs, desc.stride, c, out.variances.back()));
    }
    return out;
}

}  // namespace yolk::oracle
