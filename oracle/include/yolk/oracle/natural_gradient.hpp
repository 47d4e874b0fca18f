// SPDX-License-Identifier: Apache-2.0
// Host results for natural_gradient (docs/kernels/natural_gradient.md).
#pragma once

#include <memory>
#include <vector>

#include "yolk/oracle/family.hpp"
#include "yolk/primitives/natural_gradient.hpp"

namespace yolk::oracle {

struct NaturalGradientInputs {
    std::vector<float> preconditioner;  ///< [blocks, n, n]; empty where identity
    std::vector<float> gradient;        ///< [blocks, n]
    float learning_rate = 0.0F;
};

template <class Value>
struct NaturalGradientOutputs {
    std::vector<Value> step;
    std::vector<Value> preconditioned;
};

/// Exact twin, in the order of rows.glsl.
[[nodiscard]] NaturalGradientOutputs<float> natural_gradient_twin(const NaturalGradientDesc& desc,
                                                                  const NaturalGradientInputs& inputs);

/// In double: the projected preconditioner as a matrix of its own, (I - 11^T/n) P (I - 11^T/n), summed by columns, the
/// last first. Tolerances count roundings against the sums of magnitudes, and what counts as zero.
[[nodiscard]] NaturalGradientOutputs<OracleValue> natural_gradient_oracle(const NaturalGradientDesc& desc,
                                                                          const NaturalGradientInputs& inputs);

/// A problem worth timing.
[[nodiscard]] std::unique_ptr<Problem> make_natural_gradient_problem(const NaturalGradientDesc& desc);

}  // namespace yolk::oracle
