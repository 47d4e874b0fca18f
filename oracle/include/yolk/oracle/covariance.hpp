// SPDX-License-Identifier: Apache-2.0
// Host results for covariance (docs/kernels/covariance.md).
#pragma once

#include <memory>
#include <vector>

#include "yolk/oracle/family.hpp"
#include "yolk/primitives/covariance.hpp"

namespace yolk::oracle {

struct CovarianceInputs {
    std::vector<float> x;
    std::vector<float> old;  ///< what covariance held: [blocks, n, n], with `average`
    bool first = false;
};

/// [blocks, n, n] each; damped is empty without damping.
struct CovarianceOutputs {
    std::vector<float> covariance;
    std::vector<float> damped;
};
struct CovarianceOracle {
    std::vector<OracleValue> covariance;
    std::vector<OracleValue> damped;
};

/// The index of X[block, sample, column] in its view.
[[nodiscard]] std::size_t covariance_element(const CovarianceDesc& desc, std::uint32_t block, std::uint32_t sample,
                                             std::uint32_t column);

/// Exact twin: matmul's (an ascending chain over the samples), then the kernels' steps.
[[nodiscard]] CovarianceOutputs covariance_twin(const CovarianceDesc& desc, const CovarianceInputs& inputs);

/// In double, as a sum of outer products of samples, the last sample first. Tolerances count roundings, and what the
/// operand rule may drop.
[[nodiscard]] CovarianceOracle covariance_oracle(const CovarianceDesc& desc, const CovarianceInputs& inputs);

/// A problem worth timing.
[[nodiscard]] std::unique_ptr<Problem> make_covariance_problem(const CovarianceDesc& desc);

}  // namespace yolk::oracle
