// SPDX-License-Identifier: Apache-2.0
// Exponentials of a row in double, for softmax's oracle.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <span>
#include <vector>

#include "error_bounds.hpp"

namespace yolk::oracle {

/// Stated errors of the exact functions (docs/kernels/exact_math.md).
inline constexpr double kExpError = 1.2e-7;
inline constexpr double kLogError = 9e-8;
/// What an exponential below exp(-69) loses.
inline constexpr double kExpCut = 0x1p-99;

/// How far fp32's x - m may be off: one rounding, and both operands may count as zero.
[[nodiscard]] inline double distance_error(double distance) {
    return std::abs(distance) * kFp32Rounding + 2.0 * kOperandFloor;
}

/// The oracle's maximum and sum of a row with a finite maximum, and the relative error of the kernel's sum.
struct RowExponentialsOracle {
    double largest = 0.0;
    double sum = 0.0;
    double sum_error = 0.0;
};

[[nodiscard]] inline RowExponentialsOracle row_exponentials_oracle(std::span<const float> row) {
    RowExponentialsOracle result;
    result.largest = *std::max_element(row.begin(), row.end());
    std::vector<double> terms;
    std::vector<double> errors;
    for (const float x : row) {
        const double distance = x - result.largest;
        terms.push_back(std::exp(distance));
        // exp(-infinity) is exact; elsewhere the distance's error, as a factor exp(e) - 1 <= 1.01 e, and exp's own.
        const double relative = std::isfinite(distance) ? 1.01 * distance_error(distance) + kExpError : 0.0;
        errors.push_back(terms.back() * relative + kExpCut);
    }
    result.sum = pairwise_sum(terms);
    const double of_terms = pairwise_sum(errors) / result.sum;
    result.sum_error = of_terms + row_sum_error(row.size()) * (1.0 + of_terms);
    return result;
}

}  // namespace yolk::oracle
