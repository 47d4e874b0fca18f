// SPDX-License-Identifier: Apache-2.0
// A member's perturbed matrix, formed: the product of the identity with it, by the rules of perturbed_linear.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "yolk/primitives/perturbed_linear.hpp"

namespace yolk::reference {

/// W + side sigma/sqrt(r) A B^T as fp32 [out, in], class P: ((0 + w) + p[0] b[0]) + p[1] b[1] ..., p = A scale / 85,
/// every product and sum rounded. The bits of perturbed_linear_twin, transposed, for x = the identity of `out` rows and
/// finite weights. Of `desc`: in, out, rank, parameter, antithetic. Member -1 is the centre.
[[nodiscard]] std::vector<float> perturbed_matrix_twin(const PerturbedLinearDesc& desc, std::span<const float> weights,
                                                       const NoiseContext& when, std::int32_t member);

}  // namespace yolk::reference
