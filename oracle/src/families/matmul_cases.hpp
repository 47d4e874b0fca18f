// SPDX-License-Identifier: Apache-2.0
// The products that matmul is checked with.
#pragma once

#include <vector>

#include "yolk/matmul.hpp"

namespace yolk::oracle {

/// What a matrix is filled with.
enum class MatrixValues {
    Uniform,  ///< in [-1, 1): for benchmarks, since denormal numbers cost processors a hundred cycles
    Plain,    ///< in [-1, 1), now and then an operand that the operand rule drops, one of them denormal
    Ones,     ///< exactly 1: sums are small integers, so any order gives k exactly
    Huge,     ///< up to 2^60 in magnitude
    Tiny,     ///< 2^-36 to 2^-35 in magnitude, around the operand rule's floor
};

struct MatmulCase {
    MatmulDesc desc;
    MatrixValues values = MatrixValues::Plain;
};

/// fp32. Empty extents, ones, primes, around tiles of 8, 16, 32 and 64 rows and columns and blocks of 4, 8, 16 and
/// 32 k; all transposes; batches, shared operands, offsets and strides with NaN between the rows; matrices side by side
/// in the columns of one; every epilogue; values that fool weak tests.
[[nodiscard]] std::vector<MatmulCase> product_cases();
/// 16 bits. Formats of each operand, odd offsets and strides, roundings of out, an odd count of it. Those that
/// matrix units may take are fast, the others exact: their fast forms differ from those above by how an operand is
/// read.
[[nodiscard]] std::vector<MatmulCase> format_cases();

}  // namespace yolk::oracle
