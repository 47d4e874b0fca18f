// SPDX-License-Identifier: Apache-2.0
// Exact twin of the rearrange kernels (docs/kernels/rearrange.md).
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "yolk/primitives/rearrange.hpp"

namespace yolk::reference {

/// The words of the output, row by row. `source`: [members, source_elements], [source_elements] where shared.
[[nodiscard]] std::vector<std::uint32_t> rearrange_twin(const RearrangeDesc& desc,
                                                        std::span<const std::uint32_t> source);

}  // namespace yolk::reference
