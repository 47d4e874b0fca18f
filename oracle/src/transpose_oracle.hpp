// SPDX-License-Identifier: Apache-2.0
// Oracle of the transpose kernels (docs/kernels/transpose.md), of elements as words.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "yolk/primitives/transpose.hpp"

namespace yolk::oracle {

/// The same permutation by its cycles, in place.
[[nodiscard]] std::vector<std::uint32_t> transpose_oracle(const TransposeDesc& desc,
                                                          std::span<const std::uint32_t> source);

}  // namespace yolk::oracle
