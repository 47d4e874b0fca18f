// SPDX-License-Identifier: Apache-2.0
// Host results for the perturbed_linear kernels (docs/kernels/perturbed_linear.md).
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "yolk/oracle/family.hpp"
#include "yolk/primitives/perturbed_linear.hpp"

namespace yolk::oracle {

/// Values [members, rows, out] (transposed: `in` for `out`) and, for each, how far a right fp32 kernel may be off.
struct PerturbedLinearOracle {
    std::vector<double> values;
    std::vector<double> tolerances;
};

/// Exact twin: fp32 in the kernels' order. `input` is [rows, in] or [members, rows, in] (transposed: `out` for
/// `in`).
[[nodiscard]] std::vector<float> perturbed_linear_twin(const PerturbedLinearDesc& desc, std::span<const float> weights,
                                                       std::span<const float> input, const NoiseContext& when,
                                                       std::int32_t first_member = 0);

/// The member's weights W + side * sigma/sqrt(r) A B^T in full, in double, from the oracle's own noise; [out, in].
/// Member -1 gives W.
[[nodiscard]] std::vector<double> perturbed_weights_oracle(const PerturbedLinearDesc& desc,
                                                           std::span<const float> weights, const NoiseContext& when,
                                                           std::int32_t member);

/// x (W + side * sigma/sqrt(r) A B^T)^T with the sum formed, in double. The tolerance counts the roundings that a term
/// can meet on its way (depth) against the sum of the terms' magnitudes (norm), and what the operand rule may drop.
[[nodiscard]] PerturbedLinearOracle perturbed_linear_oracle(const PerturbedLinearDesc& desc,
                                                            std::span<const float> weights,
                                                            std::span<const float> input, const NoiseContext& when,
                                                            std::int32_t first_member = 0);

/// A problem of no particular values, for benchmarks and the tuner.
[[nodiscard]] std::unique_ptr<Problem> make_perturbed_linear_problem(const PerturbedLinearDesc& desc);

}  // namespace yolk::oracle
