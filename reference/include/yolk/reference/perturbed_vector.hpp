// SPDX-License-Identifier: Apache-2.0
// Exact twin of the perturbed_vector kernel (docs/kernels/perturbed_vector.md).
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "yolk/primitives/perturbed_vector.hpp"

namespace yolk::reference {

/// Exact twin: fp32 in the kernel's order, [members, element_count].
[[nodiscard]] std::vector<float> perturbed_vector_twin(const PerturbedVectorDesc& desc, std::span<const float> vector,
                                                       const NoiseContext& when, std::int32_t first_member);

}  // namespace yolk::reference
