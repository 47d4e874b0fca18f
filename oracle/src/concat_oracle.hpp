// SPDX-License-Identifier: Apache-2.0
// Oracle of the concat kernels (docs/kernels/concat.md), of elements as words.
#pragma once

#include <cstdint>
#include <vector>

#include "yolk/primitives/concat.hpp"
#include "yolk/reference/concat.hpp"

namespace yolk::oracle {

/// The element of the whole at these coordinates, looked up in the parts.
[[nodiscard]] std::uint32_t concat_oracle(const ConcatDesc& desc, const std::vector<reference::Words>& parts,
                                          std::size_t member, std::size_t outer, std::size_t along, std::size_t inner);

}  // namespace yolk::oracle
