// SPDX-License-Identifier: Apache-2.0
// Oracle of expected_improvement (docs/kernels/expected_improvement.md).
#pragma once

#include "yolk/oracle/family.hpp"
#include "yolk/primitives/expected_improvement.hpp"
#include "yolk/reference/expected_improvement.hpp"

namespace yolk::oracle {

/// In double, the normal distribution by erfc. Tolerances: roundings of sums against their magnitudes, their effect on
/// the gain by its derivatives (at most 1 in the mean, .4 in the deviation), and 7.5e-8 |z| of the approximation.
[[nodiscard]] reference::ExpectedImprovementOutputs<OracleValue> expected_improvement_oracle(
    const ExpectedImprovementDesc& desc, const reference::ExpectedImprovementInputs& inputs);

}  // namespace yolk::oracle
