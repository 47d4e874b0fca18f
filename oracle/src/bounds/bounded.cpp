// SPDX-License-Identifier: Apache-2.0
#include "yolk/internal/oracle/bounded.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "exact_math_table.hpp"

namespace yolk::oracle {
namespace {

/// A function with the largest slope that it has, and the error of the exact function.
struct Function {
    double value = 0.0;
    double slope = 1.0;
    double error = 0.0;
};

double sigmoid(double x) { return x < 0.0 ? std::exp(x) / (1.0 + std::exp(x)) : 1.0 / (1.0 + std::exp(-x)); }

Function function_of(Activation activation, double x) {
    switch (activation) {
        case Activation::Identity: return {x, 1.0, 0.0};
        case Activation::Relu: return {std::max(x, 0.0), 1.0, 0.0};
        case Activation::Tanh: return {std::tanh(x), 1.0, 1.2e-6};
        case Activation::Sigmoid: return {sigmoid(x), 0.25, 2.5e-7 * sigmoid(x) + 1e-29};
        case Activation::Silu: return {x * sigmoid(x), 1.1, 1e-29 + 2.7e-7 * std::abs(x * sigmoid(x))};
        case Activation::Gelu: {
            const Bounded gelu = gelu_oracle(x);
            return {gelu.value, 1.13, gelu.tolerance};
        }
    }
    return {};
}

}  // namespace

Bounded activated(Activation activation, const Bounded& x) {
    const Function function = function_of(activation, x.value);
    return {function.value, function.slope * x.tolerance + function.error};
}

Bounded root(const Bounded& x) {
    const double least = std::sqrt(std::max(x.value - x.tolerance, 0.0)), most = std::sqrt(x.value + x.tolerance);
    const double value = std::sqrt(std::max(x.value, 0.0));
    return {value, std::max(most - value, value - least) + kSqrtError * most};
}

Bounded reciprocal(const Bounded& x) {
    const double smallest = x.value - x.tolerance;
    if (!(smallest > 0.0)) return {1.0 / x.value, std::numeric_limits<double>::infinity()};
    const double most = 1.0 / smallest, value = 1.0 / x.value, least = 1.0 / (x.value + x.tolerance);
    return {value, std::max(most - value, value - least) + kReciprocalError * most};
}

}  // namespace yolk::oracle
