// SPDX-License-Identifier: Apache-2.0
#include "program_oracle.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "elementwise_oracle.hpp"

namespace yolk::oracle {
namespace {

/// By how much a function that rises and falls changes at most per change of its operand; 0: it does one of both.
double steepest(ElementwiseOperation operation) {
    switch (operation) {
        case ElementwiseOperation::Gelu:
        case ElementwiseOperation::Silu: return 1.13;
        case ElementwiseOperation::Absolute:
        case ElementwiseOperation::Sin:
        case ElementwiseOperation::Cos: return 1.0;
        default: return 0.0;
    }
}

/// In each operand the function rises or falls between the ends, so that it is between what it is there; but for
/// equality, for functions with a greatest slope, and for quotients by what may be 0, which may be anything.
OracleValue bounded_function(ElementwiseOperation operation, const OracleValue& x, const OracleValue& y) {
    constexpr double kAnything = std::numeric_limits<double>::infinity();
    const std::array<float, 3> first = possible(x), second = possible(y);
    OracleValue made = elementwise_oracle(operation, first[1], second[1]);
    if (x.tolerance == 0.0 && y.tolerance == 0.0) return made;
    if (operation == ElementwiseOperation::Divide && second[0] <= 0.0F && second[2] >= 0.0F)
        return {made.value, kAnything};
    if (operation == ElementwiseOperation::EqualTo || operation == ElementwiseOperation::NotEqualTo) {
        const bool may_meet = first[0] <= second[2] && second[0] <= first[2];
        if (x.tolerance + y.tolerance > 0.0 && may_meet) made.tolerance = 1.0;
        return made;
    }
    const double slope = steepest(operation);
    double tolerance = made.tolerance;
    for (const float a : {first[0], first[2]}) {
        for (const float b : {second[0], second[2]}) {
            const OracleValue end = elementwise_oracle(operation, a, b);
            const double moved =
                slope != 0.0 ? slope * std::abs(static_cast<double>(a) - first[1]) : std::abs(end.value - made.value);
            tolerance = std::max(tolerance, moved + end.tolerance);
        }
    }
    made.tolerance = tolerance;
    return made;
}

/// If the condition may be 0 or not, the result may be either value.
OracleValue bounded_choice(const OracleValue& condition, const OracleValue& first, const OracleValue& second) {
    if (std::abs(condition.value) > condition.tolerance) return first;
    if (condition.tolerance == 0.0) return second;
    return {first.value, std::max(first.tolerance, std::abs(first.value - second.value) + second.tolerance)};
}

}  // namespace

std::vector<OracleValue> repeated_along(std::span<const std::uint32_t> extents, std::uint32_t dimensions,
                                        std::span<const float> input) {
    std::vector<OracleValue> values;
    for (const float x : input) values.push_back({x, 0.0});
    std::size_t inner = 1;
    for (std::size_t d = extents.size(); d-- > 0; inner *= extents[d]) {
        if ((dimensions >> d & 1U) != 0) continue;
        std::vector<OracleValue> more;
        for (std::size_t first = 0; first < values.size(); first += inner) {
            for (std::uint32_t i = 0; i < extents[d]; ++i)
                more.insert(more.end(), values.begin() + static_cast<std::ptrdiff_t>(first),
                            values.begin() + static_cast<std::ptrdiff_t>(first + inner));
        }
        values = std::move(more);
    }
    return values;
}

std::array<float, 3> possible(const OracleValue& operand) {
    const auto value = static_cast<float>(operand.value);
    if (operand.tolerance == 0.0) return {value, value, value};
    const double error = operand.tolerance + std::abs(operand.value - static_cast<double>(value));
    constexpr float kFar = std::numeric_limits<float>::infinity();
    return {std::nextafter(static_cast<float>(value - error), -kFar), value,
            std::nextafter(static_cast<float>(value + error), kFar)};
}

OracleValue bounded_step(ElementwiseOperation operation, std::span<const std::uint32_t> operands,
                         std::span<const OracleValue> values) {
    const auto operand = [&](std::size_t o) { return values[operands[o]]; };
    const std::uint32_t count = operand_count(operation);
    if (count == 3) return bounded_choice(operand(0), operand(1), operand(2));
    return bounded_function(operation, operand(0), count == 2 ? operand(1) : OracleValue{0.0, 0.0});
}

}  // namespace yolk::oracle
