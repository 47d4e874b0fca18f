// SPDX-License-Identifier: Apache-2.0
// Oracle of the int8 product (docs/kernels/matmul_i8.md).
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "yolk/internal/oracle/element_oracle.hpp"
#include "yolk/matmul_i8.hpp"

namespace yolk::oracle {

/// In double by outer products, k outermost and descending; exact as long as sums stay below 2^53; [batch, m, n],
/// dense.
[[nodiscard]] std::vector<Bounded> matmul_i8_oracle(const MatmulI8Desc& desc, std::span<const std::int8_t> a,
                                                    std::span<const std::int8_t> b);

}  // namespace yolk::oracle
