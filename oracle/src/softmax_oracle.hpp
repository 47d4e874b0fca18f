// SPDX-License-Identifier: Apache-2.0
// Oracle of the softmax kernel (docs/kernels/softmax.md), [members, rows, columns] in and out.
#pragma once

#include <vector>

#include "yolk/oracle/family.hpp"
#include "yolk/primitives/softmax.hpp"

namespace yolk::oracle {

/// Double precision, std::exp, pairwise sums; rows whose maximum is finite. The tolerance follows each rounding
/// (docs/kernels/softmax.md).
[[nodiscard]] std::vector<OracleValue> softmax_oracle(const SoftmaxDesc& desc, const std::vector<float>& in);

}  // namespace yolk::oracle
