// SPDX-License-Identifier: Apache-2.0
// Oracle of the normalize kernel (docs/kernels/normalize.md), [members, rows, columns] in and out.
#pragma once

#include <vector>

#include "yolk/oracle/family.hpp"
#include "yolk/primitives/normalize.hpp"
#include "yolk/reference/normalize.hpp"

namespace yolk::oracle {

/// Double precision, std::sqrt, pairwise sums; for rows whose mean square is below 2^100. The tolerance follows each
/// rounding (docs/kernels/normalize.md).
[[nodiscard]] std::vector<OracleValue> normalize_oracle(const NormalizeDesc& desc,
                                                        const reference::NormalizeInputs& inputs);

}  // namespace yolk::oracle
