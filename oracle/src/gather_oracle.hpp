// SPDX-License-Identifier: Apache-2.0
// Oracle of the gather kernels (docs/kernels/gather.md).
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "yolk/oracle/family.hpp"
#include "yolk/primitives/gather.hpp"
#include "yolk/primitives/scatter.hpp"

namespace yolk::oracle {

/// The same as the product of a matrix of ones and zeros with the table's words, which are exact in double.
[[nodiscard]] std::vector<OracleValue> gather_oracle(const GatherDesc& desc, std::span<const std::uint32_t> table,
                                                     std::span<const std::uint32_t> ids);
/// In double, each row's ids looked up from the last (assign) or summed pairwise (add). The tolerance of k additions
/// whose operands have the magnitudes a_j: k roundings of 2^-24 of the sum of a_j, and what their 2 k flushes take.
[[nodiscard]] std::vector<OracleValue> scatter_oracle(const ScatterDesc& desc, std::span<const float> target,
                                                      std::span<const std::uint32_t> ids,
                                                      std::span<const float> values);

}  // namespace yolk::oracle
