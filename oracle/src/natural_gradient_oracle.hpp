// SPDX-License-Identifier: Apache-2.0
// Oracle of natural_gradient (docs/kernels/natural_gradient.md).
#pragma once

#include "yolk/oracle/family.hpp"
#include "yolk/primitives/natural_gradient.hpp"
#include "yolk/reference/natural_gradient.hpp"

namespace yolk::oracle {

/// In double: the projected preconditioner as a matrix of its own, (I - 11^T/n) P (I - 11^T/n), summed by columns, the
/// last first. Tolerances count roundings against the sums of magnitudes, and what counts as zero.
[[nodiscard]] reference::NaturalGradientOutputs<OracleValue> natural_gradient_oracle(
    const NaturalGradientDesc& desc, const reference::NaturalGradientInputs& inputs);

}  // namespace yolk::oracle
