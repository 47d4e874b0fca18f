// SPDX-License-Identifier: Apache-2.0
// Exact twin of the elementwise kernels (docs/kernels/elementwise.md).
#pragma once

#include <span>
#include <vector>

#include "yolk/primitives/elementwise.hpp"

namespace yolk::reference {

/// Exact twin, from the source that the kernel shares. `second` as the description says, empty for unary operations.
[[nodiscard]] std::vector<float> elementwise_twin(const ElementwiseDesc& desc, std::span<const float> first,
                                                  std::span<const float> second = {});

}  // namespace yolk::reference
