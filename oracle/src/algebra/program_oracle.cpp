// SPDX-License-Identifier: Apache-2.0
#include "program_oracle.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "elementwise_oracle.hpp"
#include "yolk/internal/reference/row_sum.hpp"

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
Bounded bounded_function(ElementwiseOperation operation, const Bounded& x, const Bounded& y) {
    constexpr double kAnything = std::numeric_limits<double>::infinity();
    Bounded made = elementwise_oracle(operation, x.value, y.value);
    if (x.tolerance == 0.0 && y.tolerance == 0.0) return made;
    if (operation == ElementwiseOperation::Divide && y.smallest() <= 0.0) return {made.value, kAnything};
    if (operation == ElementwiseOperation::EqualTo || operation == ElementwiseOperation::NotEqualTo) {
        if (std::abs(x.value - y.value) <= x.tolerance + y.tolerance) made.tolerance = 1.0;
        return made;
    }
    const double slope = steepest(operation);
    double tolerance = made.tolerance;
    for (const double a : {x.value - x.tolerance, x.value + x.tolerance}) {
        for (const double b : {y.value - y.tolerance, y.value + y.tolerance}) {
            const Bounded end = elementwise_oracle(operation, a, b);
            const double moved = slope != 0.0 ? slope * x.tolerance : std::abs(end.value - made.value);
            tolerance = std::max(tolerance, moved + end.tolerance);
        }
    }
    made.tolerance = tolerance;
    return made;
}

/// Whether it says anything at all.
bool is_number(const Bounded& x) { return !std::isnan(x.value) && std::isfinite(x.tolerance); }
constexpr Bounded kNoNumber{0.0, std::numeric_limits<double>::infinity()};

/// A falling function of an operand above 0; `error` is its relative error.
template <class Function>
Bounded falling(const Bounded& x, double error, Function&& function) {
    const double smallest = x.value - x.tolerance, value = function(x.value);
    if (!(smallest > 0.0)) return {value, std::numeric_limits<double>::infinity()};
    const double most = function(smallest), least = function(x.value + x.tolerance);
    return {value, std::max(most - value, value - least) + 1.01 * error * most};
}

/// The largest moves by no more than the most that an element may. Of Argmax, by how far those lie away that may be as
/// large.
Bounded extreme_of(RowOperation operation, std::span<const Bounded> row) {
    const double sign = operation == RowOperation::Min ? -1.0 : 1.0;
    std::size_t best = 0;
    double tolerance = 0.0;
    for (std::size_t k = 0; k < row.size(); ++k) {
        if (sign * row[k].value > sign * row[best].value) best = k;
        tolerance = std::max(tolerance, row[k].tolerance);
    }
    if (operation != RowOperation::Argmax) return {row[best].value, tolerance};
    double away = 0.0;
    const double least = row[best].value - row[best].tolerance;
    for (std::size_t k = 0; k < row.size() && tolerance > 0.0; ++k) {
        const double distance = std::abs(static_cast<double>(k) - static_cast<double>(best));
        if (row[k].value + row[k].tolerance >= least) away = std::max(away, distance);
    }
    return {static_cast<double>(best), away};
}

}  // namespace

Bounded step_value(ElementwiseOperation operation, const Bounded& x) {
    return is_number(x) ? bounded_function(operation, x, {}) : kNoNumber;
}
Bounded step_value(ElementwiseOperation operation, const Bounded& x, const Bounded& y) {
    return is_number(x) && is_number(y) ? bounded_function(operation, x, y) : kNoNumber;
}
Bounded chosen(const Bounded& condition, const Bounded& x, const Bounded& y) {
    if (!is_number(condition)) return kNoNumber;
    if (std::abs(condition.value) > condition.tolerance) return x;
    if (condition.tolerance == 0.0) return y;
    return {x.value, std::max(x.tolerance, std::abs(x.value - y.value) + y.tolerance)};
}

Bounded step_value(RowOperation operation, const Bounded& x) {
    if (!is_number(x)) return kNoNumber;
    switch (operation) {
        case RowOperation::Operand:
            return {std::abs(x.value) < kOperandFloor ? 0.0 : x.value,
                    x.tolerance == 0.0 ? 0.0 : x.tolerance + kOperandFloor};
        case RowOperation::Result: return {x.value, x.tolerance + kProductFloor};
        case RowOperation::Exponential: return step_value(ElementwiseOperation::Exp, x);
        case RowOperation::Reciprocal: return falling(x, kReciprocalError, [](double value) { return 1.0 / value; });
        default: return falling(x, kReciprocalError + kSqrtError, [](double value) { return 1.0 / std::sqrt(value); });
    }
}
Bounded step_value(RowOperation operation, const Bounded& x, const Bounded& y) {
    if (operation == RowOperation::Difference) return step_value(ElementwiseOperation::Subtract, x, y);
    return step_value(operation == RowOperation::Product ? ElementwiseOperation::Multiply : ElementwiseOperation::Add,
                      x, y);
}

Bounded reduced(RowOperation operation, std::span<const Bounded> row) {
    if (!std::ranges::all_of(row, is_number)) return kNoNumber;
    if (operation != RowOperation::Sum) return extreme_of(operation, row);
    return reference::row_sum<Bounded>(row.size(), [&](std::size_t k) { return flush(row[k]); });
}

}  // namespace yolk::oracle
