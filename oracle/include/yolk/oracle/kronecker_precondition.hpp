// SPDX-License-Identifier: Apache-2.0
// Host results for kronecker_precondition (docs/kernels/kronecker_precondition.md).
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "yolk/oracle/family.hpp"
#include "yolk/primitives/kronecker_precondition.hpp"

namespace yolk::oracle {

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

/// In double: both factors damped and solved for by LU decompositions, without an inverse; zeros for blocks that
/// `status` calls failed. Tolerances carry those of block_inverse's oracle, of the dampings and of the products through
/// to the step.
[[nodiscard]] std::vector<OracleValue> kronecker_precondition_oracle(const KroneckerPreconditionDesc& desc,
                                                                     const KroneckerInputs& inputs,
                                                                     const std::vector<std::uint32_t>& status);

/// A problem worth timing.
[[nodiscard]] std::unique_ptr<Problem> make_kronecker_precondition_problem(const KroneckerPreconditionDesc& desc);

}  // namespace yolk::oracle
