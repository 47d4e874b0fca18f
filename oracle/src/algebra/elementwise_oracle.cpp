// SPDX-License-Identifier: Apache-2.0
#include "elementwise_oracle.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "exact_math_table.hpp"
#include "yolk/internal/abi/exact_math.h"
#include "yolk/internal/oracle/error_bounds.hpp"

namespace yolk::oracle {
namespace {

constexpr double kRsqrtError = 1.2e-7;
constexpr double kPowerError = 4e-7;
constexpr double kSineError = 1.1e-7;
constexpr double kFarSineError = 1.4e-7;
constexpr double kFarSine = 4096.0;

// Which row of the table of exact functions an operation is; null where it moves bits or is no function of one element.
const ExactFunction* function_of(ElementwiseOperation operation) {
    namespace abi_em = abi::exact_math;
    const auto named = [](std::uint32_t id) { return &*std::ranges::find(exact_functions(), id, &ExactFunction::id); };
    switch (operation) {
        case ElementwiseOperation::Relu: return named(abi_em::kRelu);
        case ElementwiseOperation::Silu: return named(abi_em::kSilu);
        case ElementwiseOperation::Tanh: return named(abi_em::kTanh);
        case ElementwiseOperation::Sigmoid: return named(abi_em::kSigmoid);
        case ElementwiseOperation::Exp: return named(abi_em::kExp);
        case ElementwiseOperation::Log: return named(abi_em::kLog);
        case ElementwiseOperation::Round: return named(abi_em::kRoundHalfEven);
        default: return nullptr;
    }
}

/// An operand of what flushes to a zero of its sign.
double operand(double x) { return std::abs(x) < kProductFloor ? std::copysign(0.0, x) : x; }

/// A sum or difference; exact where an operand is infinite.
Bounded sum_of(double sum) {
    if (std::isinf(sum)) return {sum, 0.0};
    return {sum, kFp32Rounding * std::abs(sum) + 2.0 * kProductFloor};
}

/// What rounds to no finite fp32 number is infinite there.
double in_fp32(double x) {
    constexpr double kPastLargest = 0x1.ffffffp127;
    return std::abs(x) >= kPastLargest ? std::copysign(std::numeric_limits<double>::infinity(), x) : x;
}

Bounded sine_of(double value, double x) { return {value, std::abs(x) <= kFarSine ? kSineError : kFarSineError}; }

Bounded unary_value(ElementwiseOperation operation, double x) {
    if (operation == ElementwiseOperation::Gelu) return gelu_oracle(x);
    if (const ExactFunction* function = function_of(operation)) {
        const double value = function->reference(x);
        return {value, function->absolute_error + function->relative_error * std::abs(value)};
    }
    switch (operation) {
        case ElementwiseOperation::Negate: return {0.0 - x, 0.0};
        case ElementwiseOperation::Absolute: return {std::abs(x), 0.0};
        case ElementwiseOperation::Floor: return {std::floor(x), 0.0};
        case ElementwiseOperation::Sin: return sine_of(std::sin(x), x);
        case ElementwiseOperation::Cos: return sine_of(std::cos(x), x);
        case ElementwiseOperation::Sqrt: {
            const double root = std::sqrt(operand(x));
            return {root, kFp32Rounding * root};
        }
        case ElementwiseOperation::Rsqrt: {
            const double inverse = 1.0 / std::sqrt(operand(x));
            return {inverse, kRsqrtError * inverse};
        }
        default: return {x, 0.0};
    }
}

Bounded binary_value(ElementwiseOperation operation, double x, double y) {
    switch (operation) {
        case ElementwiseOperation::Maximum: return {std::max(x, y), 0.0};
        case ElementwiseOperation::Minimum: return {std::min(x, y), 0.0};
        case ElementwiseOperation::Multiply:
            return {x * y, kFp32Rounding * std::abs(x * y) + kProductFloor * (1.0 + std::abs(x) + std::abs(y))};
        case ElementwiseOperation::Add: return sum_of(x + y);
        case ElementwiseOperation::Subtract: return sum_of(x - y);
        case ElementwiseOperation::Divide: {
            const double quotient = in_fp32(operand(x) / operand(y));
            return {quotient, kFp32Rounding * std::abs(quotient) + kProductFloor};
        }
        case ElementwiseOperation::Power: {
            const double power = in_fp32(std::pow(operand(x), operand(y)));
            return {power, kPowerError * std::abs(power) + kProductFloor};
        }
        case ElementwiseOperation::LessThan: return {x < y ? 1.0 : 0.0, 0.0};
        case ElementwiseOperation::LessOrEqual: return {x <= y ? 1.0 : 0.0, 0.0};
        case ElementwiseOperation::GreaterThan: return {x > y ? 1.0 : 0.0, 0.0};
        case ElementwiseOperation::GreaterOrEqual: return {x >= y ? 1.0 : 0.0, 0.0};
        case ElementwiseOperation::EqualTo: return {x == y ? 1.0 : 0.0, 0.0};
        default: return {x != y ? 1.0 : 0.0, 0.0};
    }
}

}  // namespace

Bounded elementwise_oracle(ElementwiseOperation operation, double x, double y) {
    return operand_count(operation) == 2 ? binary_value(operation, x, y) : unary_value(operation, x);
}

}  // namespace yolk::oracle
