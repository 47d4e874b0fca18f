// SPDX-License-Identifier: Apache-2.0
// Exact twin of inverse_sqrt (docs/kernels/inverse_sqrt.md).
#pragma once

#include <cstdint>
#include <vector>

#include "yolk/primitives/inverse_sqrt.hpp"

namespace yolk::reference {

struct InverseSqrtOutputs {
    std::vector<float> out;
    std::vector<std::uint32_t> status;
    std::vector<float> residual;
};

/// Exact twin: matmul's products and the order of rows.glsl.
[[nodiscard]] InverseSqrtOutputs inverse_sqrt_twin(const InverseSqrtDesc& desc, const std::vector<float>& in);

}  // namespace yolk::reference
