// SPDX-License-Identifier: Apache-2.0
// Host results for the perturbed_embedding kernel (docs/kernels/perturbed_embedding.md).
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "yolk/oracle/family.hpp"
#include "yolk/primitives/perturbed_embedding.hpp"

namespace yolk::oracle {

/// Exact twin: fp32 in the kernel's order, [members, rows, columns]. `ids` is [rows] or [members, rows].
[[nodiscard]] std::vector<float> perturbed_embedding_twin(const PerturbedEmbeddingDesc& desc,
                                                          std::span<const float> weights,
                                                          std::span<const std::uint32_t> ids, const NoiseContext& when,
                                                          std::int32_t first_member);

/// (W + side * sigma/sqrt(r) A B^T)[id] in double, from the oracle's own noise. A term meets the roundings of the
/// scale, of its product with A, of that with B, and `rank` additions; the operand rule may drop W, the scale, and t.
[[nodiscard]] std::vector<OracleValue> perturbed_embedding_oracle(const PerturbedEmbeddingDesc& desc,
                                                                  std::span<const float> weights,
                                                                  std::span<const std::uint32_t> ids,
                                                                  const NoiseContext& when, std::int32_t first_member);

/// A problem of this description, for tuning and timing.
[[nodiscard]] std::unique_ptr<Problem> make_perturbed_embedding_problem(const PerturbedEmbeddingDesc& desc);

}  // namespace yolk::oracle
