// SPDX-License-Identifier: Apache-2.0
// Oracle of natural_gradient (docs/kernels/natural_gradient.md).
#pragma once

#include <span>
#include <vector>

#include "yolk/internal/oracle/family.hpp"
#include "yolk/natural_gradient.hpp"

namespace yolk::oracle {

/// In double: the projected preconditioner as a matrix of its own, (I - 11^T/n) P (I - 11^T/n), summed by columns, the
/// last first; of the step and of the preconditioned gradient. Tolerances count roundings against the sums of
/// magnitudes, and what counts as zero.
[[nodiscard]] std::vector<std::vector<OracleValue>> natural_gradient_oracle(const NaturalGradientDesc& desc,
                                                                            std::span<const float> preconditioner,
                                                                            std::span<const float> gradient,
                                                                            float learning_rate);

}  // namespace yolk::oracle
