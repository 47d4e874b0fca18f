// SPDX-License-Identifier: Apache-2.0
// Oracle of covariance (docs/kernels/covariance.md).
#pragma once

#include <vector>

#include "yolk/oracle/family.hpp"
#include "yolk/primitives/covariance.hpp"
#include "yolk/reference/covariance.hpp"

namespace yolk::oracle {

struct CovarianceOracle {
    std::vector<OracleValue> covariance;
    std::vector<OracleValue> damped;
};

/// In double, as a sum of outer products of samples, the last sample first. Tolerances count roundings, and what the
/// operand rule may drop.
[[nodiscard]] CovarianceOracle covariance_oracle(const CovarianceDesc& desc, const reference::CovarianceInputs& inputs);

}  // namespace yolk::oracle
