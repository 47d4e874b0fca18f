// SPDX-License-Identifier: Apache-2.0
// Exact twin of the normalize kernel (docs/kernels/normalize.md), [members, rows, columns] in and out.
#pragma once

#include <vector>

#include "yolk/primitives/normalize.hpp"

namespace yolk::reference {

/// `scale` and `bias` are empty where there is none.
struct NormalizeInputs {
    std::vector<float> in;
    std::vector<float> scale;
    std::vector<float> bias;
};

/// Exact twin.
[[nodiscard]] std::vector<float> normalize_twin(const NormalizeDesc& desc, const NormalizeInputs& inputs);

}  // namespace yolk::reference
