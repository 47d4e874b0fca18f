// SPDX-License-Identifier: Apache-2.0
// Exact twin of the softmax kernel (docs/kernels/softmax.md), [members, rows, columns] in and out.
#pragma once

#include <vector>

#include "yolk/primitives/softmax.hpp"

namespace yolk::reference {

/// Exact twin.
[[nodiscard]] std::vector<float> softmax_twin(const SoftmaxDesc& desc, const std::vector<float>& in);

}  // namespace yolk::reference
