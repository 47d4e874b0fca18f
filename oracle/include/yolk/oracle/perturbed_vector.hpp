// SPDX-License-Identifier: Apache-2.0
// Host results for the perturbed_vector kernel (docs/kernels/perturbed_vector.md).
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "yolk/oracle/family.hpp"
#include "yolk/primitives/perturbed_vector.hpp"

namespace yolk::oracle {

/// Exact twin: fp32 in the kernel's order, [members, element_count].
[[nodiscard]] std::vector<float> perturbed_vector_twin(const PerturbedVectorDesc& desc, std::span<const float> vector,
                                                       const NoiseContext& when, std::int32_t first_member);

/// v + side * sigma * noise in double, from the oracle's own noise. The noise's term meets three roundings (of the
/// scale, of the product, of the sum), v one; the operand rule may drop v, and the scale.
[[nodiscard]] std::vector<OracleValue> perturbed_vector_oracle(const PerturbedVectorDesc& desc,
                                                               std::span<const float> vector, const NoiseContext& when,
                                                               std::int32_t first_member);

/// A problem of this description, for tuning and timing.
[[nodiscard]] std::unique_ptr<Problem> make_perturbed_vector_problem(const PerturbedVectorDesc& desc);

}  // namespace yolk::oracle
