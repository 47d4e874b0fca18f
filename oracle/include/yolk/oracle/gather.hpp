// SPDX-License-Identifier: Apache-2.0
// Host results for the gather kernels (docs/kernels/gather.md).
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "yolk/oracle/family.hpp"
#include "yolk/primitives/gather.hpp"
#include "yolk/primitives/scatter.hpp"

namespace yolk::oracle {

/// [members, id_count, columns], row by row.
[[nodiscard]] std::vector<std::uint32_t> gather_twin(const GatherDesc& desc, std::span<const std::uint32_t> table,
                                                     std::span<const std::uint32_t> ids);
/// The same as the product of a matrix of ones and zeros with the table's words, which are exact in double.
[[nodiscard]] std::vector<OracleValue> gather_oracle(const GatherDesc& desc, std::span<const std::uint32_t> table,
                                                     std::span<const std::uint32_t> ids);
/// What is added to the status.
[[nodiscard]] std::uint32_t count_out_of_range(std::span<const std::uint32_t> ids, std::uint32_t rows,
                                               std::uint32_t times);

/// The target afterwards: fp32 additions in the order of the ids.
[[nodiscard]] std::vector<float> scatter_twin(const ScatterDesc& desc, std::span<const float> target,
                                              std::span<const std::uint32_t> ids, std::span<const float> values);
/// In double, each row's ids looked up from the last (assign) or summed pairwise (add). The tolerance of k additions
/// whose operands have the magnitudes a_j: k roundings of 2^-24 of the sum of a_j, and what their 2 k flushes take.
[[nodiscard]] std::vector<OracleValue> scatter_oracle(const ScatterDesc& desc, std::span<const float> target,
                                                      std::span<const std::uint32_t> ids,
                                                      std::span<const float> values);

/// A problem of this description, for tuning and timing.
[[nodiscard]] std::unique_ptr<Problem> make_gather_problem(const GatherDesc& desc);

[[nodiscard]] std::unique_ptr<Problem> make_scatter_problem(const ScatterDesc& desc);

}  // namespace yolk::oracle
