// SPDX-License-Identifier: Apache-2.0
// Oracle of covariance (docs/kernels/covariance.md).
#pragma once

#include <span>
#include <vector>

#include "yolk/covariance.hpp"
#include "yolk/internal/oracle/family.hpp"

namespace yolk::oracle {

/// In double, as a sum of outer products of samples, the last sample first. Tolerances count roundings, and what the
/// operand rule may drop. Of the covariance and of the damped one.
[[nodiscard]] std::vector<std::vector<OracleValue>> covariance_oracle(const CovarianceDesc& desc,
                                                                      std::span<const float> x,
                                                                      std::span<const float> old, bool first);

}  // namespace yolk::oracle
