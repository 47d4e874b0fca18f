// SPDX-License-Identifier: Apache-2.0
// Oracle of the reduce kernel (docs/kernels/reduce.md). `in` is [outer, columns, inner], results [outer, inner].
#pragma once

#include <vector>

#include "yolk/oracle/family.hpp"
#include "yolk/primitives/reduce.hpp"

namespace yolk::oracle {

/// Double precision, pairwise sums, for finite inputs. The tolerance of a sum is the roundings of one chain and of the
/// tree, (ceil(columns / 32) + 5) 2^-24 of the sum of magnitudes, and columns 2^-40 for the operands that count as
/// zero.
[[nodiscard]] std::vector<OracleValue> reduce_oracle(const ReduceDesc& desc, const std::vector<float>& in);

}  // namespace yolk::oracle
