// SPDX-License-Identifier: Apache-2.0
// How a product of matrices comes to its operands: the knob `operand_path` of matmul and perturbed_linear.
#pragma once

#include <cstdint>

namespace yolk {

/// perturbed_linear's a is x, its b is W.
enum OperandPath : std::uint32_t {
    kDirectOperands = 0,  ///< from storage buffers, without a barrier
    kStagedOperands = 1,  ///< they pass through shared memory, with barriers
    kUniformOperand = 2,  ///< a is read as a uniform buffer, in windows of 64 KiB
    kTexelOperands = 3,   ///< a and b are read as texel buffers
    /// matmul only: matrix units multiply fp16 (path cooperative-matrix) or bf16 operands (cooperative-bf16), `Fast`
    kCooperativeOperands = 4,
    kUniformWeights = 5,                  ///< perturbed_linear only: b is read as one uniform buffer of at most 64 KiB
    kStagedCooperativeOperands = 6,       ///< as 4, and the operands pass through shared memory
    kTwiceStagedCooperativeOperands = 7,  ///< as 6, in two blocks that alternate: one barrier for each instead of two
};

}  // namespace yolk
