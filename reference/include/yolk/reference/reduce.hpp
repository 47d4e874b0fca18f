// SPDX-License-Identifier: Apache-2.0
// Exact twin of the reduce kernel (docs/kernels/reduce.md). `in` is [outer, columns, inner], results [outer, inner].
#pragma once

#include <cstdint>
#include <vector>

#include "yolk/primitives/reduce.hpp"

namespace yolk::reference {

/// Exact twin: the words of the result.
[[nodiscard]] std::vector<std::uint32_t> reduce_twin(const ReduceDesc& desc, const std::vector<float>& in);

}  // namespace yolk::reference
