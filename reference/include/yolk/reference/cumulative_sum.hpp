// SPDX-License-Identifier: Apache-2.0
// The exact twin of the kernel cumulative_sum (docs/kernels/cumulative_sum.md).
#pragma once

#include <span>
#include <vector>

#include "yolk/primitives/cumulative_sum.hpp"

namespace yolk::reference {

/// [outer, columns, inner], as the input.
[[nodiscard]] std::vector<float> cumulative_sum_twin(const CumulativeSumDesc& desc, std::span<const float> in);

}  // namespace yolk::reference
