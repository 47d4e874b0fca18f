// SPDX-License-Identifier: Apache-2.0
// Oracle of kronecker_precondition (docs/kernels/kronecker_precondition.md).
#pragma once

#include <cstdint>
#include <vector>

#include "yolk/oracle/family.hpp"
#include "yolk/primitives/kronecker_precondition.hpp"
#include "yolk/reference/kronecker_precondition.hpp"

namespace yolk::oracle {

/// In double: both factors damped and solved for by LU decompositions, without an inverse; zeros for blocks that
/// `status` calls failed. Tolerances carry those of block_inverse's oracle, of the dampings and of the products through
/// to the step.
[[nodiscard]] std::vector<OracleValue> kronecker_precondition_oracle(const KroneckerPreconditionDesc& desc,
                                                                     const reference::KroneckerInputs& inputs,
                                                                     const std::vector<std::uint32_t>& status);

}  // namespace yolk::oracle
