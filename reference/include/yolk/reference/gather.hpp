// SPDX-License-Identifier: Apache-2.0
// Exact twin of the gather kernels (docs/kernels/gather.md).
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "yolk/primitives/gather.hpp"
#include "yolk/primitives/scatter.hpp"

namespace yolk::reference {

/// [members, id_count, columns], row by row.
[[nodiscard]] std::vector<std::uint32_t> gather_twin(const GatherDesc& desc, std::span<const std::uint32_t> table,
                                                     std::span<const std::uint32_t> ids);
/// What is added to the status.
[[nodiscard]] std::uint32_t count_out_of_range(std::span<const std::uint32_t> ids, std::uint32_t rows,
                                               std::uint32_t times);

/// The target afterwards: fp32 additions in the order of the ids.
[[nodiscard]] std::vector<float> scatter_twin(const ScatterDesc& desc, std::span<const float> target,
                                              std::span<const std::uint32_t> ids, std::span<const float> values);

}  // namespace yolk::reference
