// SPDX-License-Identifier: Apache-2.0
// Exact twin of the perturbed_embedding kernel (docs/kernels/perturbed_embedding.md).
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "yolk/primitives/perturbed_embedding.hpp"

namespace yolk::reference {

/// Exact twin: fp32 in the kernel's order, [members, rows, columns]. `ids` is [rows] or [members, rows].
[[nodiscard]] std::vector<float> perturbed_embedding_twin(const PerturbedEmbeddingDesc& desc,
                                                          std::span<const float> weights,
                                                          std::span<const std::uint32_t> ids, const NoiseContext& when,
                                                          std::int32_t first_member);

}  // namespace yolk::reference
