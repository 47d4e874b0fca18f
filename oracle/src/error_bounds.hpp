// SPDX-License-Identifier: Apache-2.0
// What the tolerances of all oracles are made of: fp32's rounding, what the flushing rules drop, and the stated errors
// of the exact functions.
#pragma once

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

}  // namespace yolk::oracle
