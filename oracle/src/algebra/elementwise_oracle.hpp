// SPDX-License-Identifier: Apache-2.0
// The oracle of elementwise: one element in double precision, by the standard library.
#pragma once

#include "yolk/elementwise.hpp"
#include "yolk/internal/oracle/family.hpp"

namespace yolk::oracle {

/// Operands are finite, and the result is no NaN. The tolerance counts roundings (one per sum,
/// product and quotient) and what the flushes below 2^-100 may take, or is the stated error of the function
/// (docs/kernels/elementwise.md). A quotient or power beyond fp32 is infinite. `second` is 0 for unary operations.
[[nodiscard]] Bounded elementwise_oracle(ElementwiseOperation operation, double x, double y);

}  // namespace yolk::oracle
