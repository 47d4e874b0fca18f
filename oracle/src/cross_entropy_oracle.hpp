// SPDX-License-Identifier: Apache-2.0
// Oracle of the cross_entropy kernel (docs/kernels/cross_entropy.md): logits [members, rows, columns], losses
// [members, rows].
#pragma once

#include <vector>

#include "yolk/oracle/family.hpp"
#include "yolk/primitives/cross_entropy.hpp"
#include "yolk/reference/cross_entropy.hpp"

namespace yolk::oracle {

/// Double precision, std::exp and std::log, pairwise sums; for rows whose maximum is finite and targets in range. The
/// tolerance follows each rounding (docs/kernels/cross_entropy.md).
[[nodiscard]] std::vector<OracleValue> cross_entropy_oracle(const CrossEntropyDesc& desc,
                                                            const reference::CrossEntropyInputs& inputs);

}  // namespace yolk::oracle
