// SPDX-License-Identifier: Apache-2.0
// Exact twin of natural_gradient (docs/kernels/natural_gradient.md).
#pragma once

#include <vector>

#include "yolk/primitives/natural_gradient.hpp"

namespace yolk::reference {

struct NaturalGradientInputs {
    std::vector<float> preconditioner;  ///< [blocks, n, n]; empty where identity
    std::vector<float> gradient;        ///< [blocks, n]
    float learning_rate = 0.0F;
};

template <class Value>
struct NaturalGradientOutputs {
    std::vector<Value> step;
    std::vector<Value> preconditioned;
};

/// Exact twin, in the order of rows.glsl.
[[nodiscard]] NaturalGradientOutputs<float> natural_gradient_twin(const NaturalGradientDesc& desc,
                                                                  const NaturalGradientInputs& inputs);

}  // namespace yolk::reference
