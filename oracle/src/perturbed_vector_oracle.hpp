// SPDX-License-Identifier: Apache-2.0
// Oracle of the perturbed_vector kernel (docs/kernels/perturbed_vector.md).
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "yolk/oracle/family.hpp"
#include "yolk/primitives/perturbed_vector.hpp"

namespace yolk::oracle {

/// v + side * sigma * noise in double, from the oracle's own noise. The noise's term meets three roundings (of the
/// scale, of the product, of the sum), v one; the operand rule may drop v, and the scale.
[[nodiscard]] std::vector<OracleValue> perturbed_vector_oracle(const PerturbedVectorDesc& desc,
                                                               std::span<const float> vector, const NoiseContext& when,
                                                               std::int32_t first_member);

}  // namespace yolk::oracle
