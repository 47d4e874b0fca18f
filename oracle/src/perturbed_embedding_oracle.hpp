// SPDX-License-Identifier: Apache-2.0
// Oracle of the perturbed_embedding kernel (docs/kernels/perturbed_embedding.md).
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "yolk/oracle/family.hpp"
#include "yolk/primitives/perturbed_embedding.hpp"

namespace yolk::oracle {

/// (W + side * sigma/sqrt(r) A B^T)[id] in double, from the oracle's own noise. A term meets the roundings of the
/// scale, of its product with A, of that with B, and `rank` additions; the operand rule may drop W, the scale, and t.
[[nodiscard]] std::vector<OracleValue> perturbed_embedding_oracle(const PerturbedEmbeddingDesc& desc,
                                                                  std::span<const float> weights,
                                                                  std::span<const std::uint32_t> ids,
                                                                  const NoiseContext& when, std::int32_t first_member);

}  // namespace yolk::oracle
