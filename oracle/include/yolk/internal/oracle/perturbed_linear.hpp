// SPDX-License-Identifier: Apache-2.0
// Oracle of the perturbed_linear kernels (docs/kernels/perturbed_linear.md).
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "yolk/perturbed_linear.hpp"

namespace yolk::oracle {

/// Values [members, rows, out] (transposed: `in` for `out`) and, for each, how far a right fp32 kernel may be off.
struct PerturbedLinearOracle {
    std::vector<double> values;
    std::vector<double> tolerances;
};

/// x (W + side * sigma/sqrt(r) A B^T)^T with the sum formed, in double. The tolerance counts the roundings that a term
/// can meet on its way (depth) against the sum of the terms' magnitudes (norm), and what the operand rule may drop.
[[nodiscard]] PerturbedLinearOracle perturbed_linear_oracle(const PerturbedLinearDesc& desc,
                                                            std::span<const float> weights,
                                                            std::span<const float> input, const NoiseContext& when,
                                                            std::int32_t first_member = 0);

}  // namespace yolk::oracle
