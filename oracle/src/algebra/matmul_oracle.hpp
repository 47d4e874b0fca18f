// SPDX-License-Identifier: Apache-2.0
// Oracle of the matmul kernels (docs/kernels/matmul.md).
#pragma once

#include <span>
#include <vector>

#include "yolk/internal/oracle/family.hpp"
#include "yolk/matmul.hpp"

namespace yolk::oracle {

/// The activation in double, its largest slope, and the error of the exact function that kernels use (its header).
struct ActivationOracle {
    double value = 0.0;
    double slope = 1.0;
    double error = 0.0;
};
[[nodiscard]] ActivationOracle activation_oracle(Activation activation, double x);

struct MatmulGiven {
    std::span<const float> a, b, bias, residual;
};

/// In double by the outer-product form, k outermost and descending, the activations by the standard library; [batch, m,
/// n], dense. The tolerance counts the roundings that a term can meet in any order of summation against the sum of the
/// terms' magnitudes, and what the operand rule may drop.
[[nodiscard]] std::vector<OracleValue> matmul_oracle(const MatmulDesc& desc, const MatmulGiven& inputs);

}  // namespace yolk::oracle
