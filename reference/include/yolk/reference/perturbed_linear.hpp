// SPDX-License-Identifier: Apache-2.0
// Exact twin of the perturbed_linear kernels (docs/kernels/perturbed_linear.md).
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "yolk/primitives/perturbed_linear.hpp"

namespace yolk::reference {

/// Exact twin: fp32 in the kernels' order. `input` is [rows, in] or [members, rows, in] (transposed: `out` for
/// `in`).
[[nodiscard]] std::vector<float> perturbed_linear_twin(const PerturbedLinearDesc& desc, std::span<const float> weights,
                                                       std::span<const float> input, const NoiseContext& when,
                                                       std::int32_t first_member = 0);

/// The member's weights W + side * sigma/sqrt(r) A B^T in full, in double; [out, in]. Member -1 gives W.
[[nodiscard]] std::vector<double> perturbed_weights(const PerturbedLinearDesc& desc, std::span<const float> weights,
                                                    const NoiseContext& when, std::int32_t member);

}  // namespace yolk::reference
