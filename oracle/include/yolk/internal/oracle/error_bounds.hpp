// SPDX-License-Identifier: Apache-2.0
// What the tolerances of all oracles are made of: fp32's rounding, what the flushing rules drop, and the stated errors
// of the exact functions.
#pragma once

#include <cstddef>
#include <span>

namespace yolk::oracle {

/// Half a unit in the last place of fp32, relative.
inline constexpr double kFp32Rounding = 0x1p-24;
/// What an operand may lose by being taken for zero.
inline constexpr double kOperandFloor = 0x1p-40;
/// What a product may lose by being taken for zero.
inline constexpr double kProductFloor = 0x1p-100;

/// Relative errors of exact_sqrt and exact_reciprocal (docs/kernels/exact_math.md).
inline constexpr double kSqrtError = 1e-7;
inline constexpr double kReciprocalError = 1.3e-7;

[[nodiscard]] inline double pairwise_sum(std::span<const double> values) {
    if (values.empty()) return 0.0;
    if (values.size() == 1) return values[0];
    const std::size_t half = values.size() / 2;
    return pairwise_sum(values.first(half)) + pairwise_sum(values.subspan(half));
}

/// Relative error of a sum of `columns` terms against the sum of their magnitudes: the roundings on the longest way
/// through a chain and the tree, compounded: (1 + u)^n - 1 is at most n u / (1 - n u).
[[nodiscard]] inline double row_sum_error(std::size_t columns) {
    const std::size_t depth = (columns + 31) / 32 + 5;
    const double roundings = static_cast<double>(depth) * kFp32Rounding;
    return roundings / (1.0 - roundings);
}

}  // namespace yolk::oracle
