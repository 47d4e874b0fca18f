// SPDX-License-Identifier: Apache-2.0
// Exact twin of the where kernels (docs/kernels/where.md).
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "yolk/primitives/where.hpp"

namespace yolk::reference {

/// The words of [members, rows, columns]; each operand as the description says.
[[nodiscard]] std::vector<std::uint32_t> where_twin(const WhereDesc& desc, std::span<const std::uint32_t> condition,
                                                    std::span<const std::uint32_t> first,
                                                    std::span<const std::uint32_t> second);

}  // namespace yolk::reference
