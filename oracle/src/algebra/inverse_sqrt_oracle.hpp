// SPDX-License-Identifier: Apache-2.0
// Oracle of inverse_sqrt (docs/kernels/inverse_sqrt.md).
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "yolk/internal/oracle/family.hpp"
#include "yolk/inverse_sqrt.hpp"

namespace yolk::oracle {

/// In double by the eigenvalues and eigenvectors of a block. `iterations`: those that the kernel made, which say how
/// far from the limit it stopped. Tolerances take the roundings of the iteration for independent (Higham and Mary 2019,
/// "A new approach to probabilistic rounding error analysis", SIAM J. Sci. Comput. 41) and carry each through the rest
/// of it to first order (docs/kernels/inverse_sqrt.md); six standard deviations.
[[nodiscard]] std::vector<Bounded> inverse_sqrt_oracle(std::uint32_t n, float damping, std::span<const float> in,
                                                       std::uint32_t iterations);

}  // namespace yolk::oracle
