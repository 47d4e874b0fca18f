// SPDX-License-Identifier: Apache-2.0
// Exact twin of kronecker_precondition (docs/kernels/kronecker_precondition.md).
#pragma once

#include <cstdint>
#include <vector>

#include "yolk/primitives/kronecker_precondition.hpp"

namespace yolk::reference {

struct KroneckerInputs {
    std::vector<float> factor_out;  ///< [blocks, n_out, n_out]
    std::vector<float> factor_in;   ///< [blocks, n_in, n_in]
    std::vector<float> gradient;    ///< [blocks, n_out, n_in]
    float damping = 0.0F;
};

struct KroneckerOutputs {
    std::vector<float> step;
    std::vector<std::uint32_t> status;  ///< empty for KroneckerFactors::Inverses
};

/// Exact twin: of the dampings, block_inverse's, matmul's.
[[nodiscard]] KroneckerOutputs kronecker_precondition_twin(const KroneckerPreconditionDesc& desc,
                                                           const KroneckerInputs& inputs);

}  // namespace yolk::reference
