// SPDX-License-Identifier: Apache-2.0
// Oracle of kronecker_precondition (docs/kernels/kronecker_precondition.md).
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "yolk/internal/oracle/family.hpp"
#include "yolk/kronecker_precondition.hpp"

namespace yolk::oracle {

struct KroneckerGiven {
    std::span<const float> factor_out;  ///< [blocks, n_out, n_out]
    std::span<const float> factor_in;   ///< [blocks, n_in, n_in]
    std::span<const float> gradient;    ///< [blocks, n_out, n_in]
    float damping = 0.0F;
};

/// In double: both factors damped and solved for by LU decompositions, without an inverse; zeros for blocks that
/// `status` calls failed. Tolerances carry those of block_inverse's oracle, of the dampings and of the products through
/// to the step.
[[nodiscard]] std::vector<Bounded> kronecker_precondition_oracle(const KroneckerPreconditionDesc& desc,
                                                                 const KroneckerGiven& inputs,
                                                                 std::span<const std::uint32_t> status);

}  // namespace yolk::oracle
