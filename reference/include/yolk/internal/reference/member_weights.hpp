// SPDX-License-Identifier: Apache-2.0
// A member's side of its pair, and its weights W + side sigma/sqrt(r) A B^T in full, [out, in]. Member -1 is the
// centre.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace yolk {
struct NoiseContext;
struct PerturbedLinearDesc;
}  // namespace yolk

namespace yolk::reference {

/// Whether a member adds its pair's noise; without antithetic sampling each one adds its own.
[[nodiscard]] inline bool is_plus_side(bool antithetic, std::int32_t member) { return !antithetic || member % 2 == 0; }

/// In double. Of `desc`, here and below: in, out, rank, parameter, antithetic.
[[nodiscard]] std::vector<double> perturbed_weights(const PerturbedLinearDesc& desc, std::span<const float> weights,
                                                    const NoiseContext& when, std::int32_t member);

/// As fp32, class P: ((0 + w) + p[0] b[0]) + p[1] b[1] ..., p = A scale / 85, every product and sum rounded. The bits
/// of perturbed_linear's twin, transposed, for x = the identity of `out` rows and finite weights.
[[nodiscard]] std::vector<float> perturbed_matrix(const PerturbedLinearDesc& desc, std::span<const float> weights,
                                                  const NoiseContext& when, std::int32_t member);

}  // namespace yolk::reference
