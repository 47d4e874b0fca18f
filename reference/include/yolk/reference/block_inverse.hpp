// SPDX-License-Identifier: Apache-2.0
// Exact twin of block_inverse (docs/kernels/block_inverse.md).
#pragma once

#include <cstdint>
#include <vector>

#include "yolk/primitives/block_inverse.hpp"

namespace yolk::reference {

/// As the views of the primitive have them; `damping` is empty unless damping_per_block.
struct BlockInverseInputs {
    std::vector<float> in;
    std::vector<float> damping;
};

struct BlockInverseOutputs {
    std::vector<float> out;
    std::vector<std::uint32_t> status;
    std::vector<float> residual;
};

/// Exact twin.
[[nodiscard]] BlockInverseOutputs block_inverse_twin(const BlockInverseDesc& desc, const BlockInverseInputs& inputs);

}  // namespace yolk::reference
