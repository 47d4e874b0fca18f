// SPDX-License-Identifier: Apache-2.0
// Exact twin of the transpose kernels (docs/kernels/transpose.md), of elements as words.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "yolk/primitives/transpose.hpp"

namespace yolk::reference {

/// Element by element of the result.
[[nodiscard]] std::vector<std::uint32_t> transpose_twin(const TransposeDesc& desc,
                                                        std::span<const std::uint32_t> source);

}  // namespace yolk::reference
