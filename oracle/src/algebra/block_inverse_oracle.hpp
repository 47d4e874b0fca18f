// SPDX-License-Identifier: Apache-2.0
// Oracle of block_inverse (docs/kernels/block_inverse.md).
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "yolk/block_inverse.hpp"
#include "yolk/internal/oracle/family.hpp"

namespace yolk::oracle {

/// The block in double, damped as an attempt with so many retries damps it, both triangles, [n, n].
[[nodiscard]] std::vector<double> damped_block(const BlockInverseDesc& desc, std::span<const float> block,
                                               float own_damping, std::uint32_t retries);
/// Inverse by elimination with complete pivoting, in double; empty where a pivot is zero.
[[nodiscard]] std::vector<double> inverse_in_double(std::span<const double> matrix, std::uint32_t n);
/// |A X - I|_F / sqrt(n), in double.
[[nodiscard]] double residual_in_double(std::span<const double> matrix, std::span<const float> inverse,
                                        std::uint32_t n);

/// Double precision, elimination with complete pivoting, for the blocks that `status` says are inverted, with the
/// damping that it tells (and `damping`, where it is per block); zeros for the others. The tolerance follows the
/// roundings of the factorization and of both triangular solves (docs/kernels/block_inverse.md).
[[nodiscard]] std::vector<Bounded> block_inverse_oracle(const BlockInverseDesc& desc, std::span<const float> in,
                                                        std::span<const float> damping,
                                                        std::span<const std::uint32_t> status);

}  // namespace yolk::oracle
