// SPDX-License-Identifier: Apache-2.0
// Oracle of the elementwise kernels (docs/kernels/elementwise.md).
#pragma once

#include <span>
#include <vector>

#include "yolk/oracle/family.hpp"
#include "yolk/primitives/elementwise.hpp"

namespace yolk::oracle {

/// In double, for finite operands whose result is finite. The tolerance counts roundings (one per sum and product) and
/// what the flushes below 2^-100 may take, or is the stated error of the exact function.
[[nodiscard]] std::vector<OracleValue> elementwise_oracle(const ElementwiseDesc& desc, std::span<const float> first,
                                                          std::span<const float> second = {});

}  // namespace yolk::oracle
