// SPDX-License-Identifier: Apache-2.0
// Host results for expected_improvement (docs/kernels/expected_improvement.md).
#pragma once

#include <memory>
#include <vector>

#include "yolk/oracle/family.hpp"
#include "yolk/primitives/expected_improvement.hpp"

namespace yolk::oracle {

struct ExpectedImprovementInputs {
    std::vector<float> scores;     ///< [2, stride]
    std::vector<float> left;       ///< [steps, stride]
    std::vector<float> right;      ///< [steps, stride]
    std::vector<float> prior;      ///< [count]
    std::vector<float> variances;  ///< [count]
    ExpectedImprovementValues values{};
};

template <class Value>
struct ExpectedImprovementOutputs {
    std::vector<Value> variances;
    std::vector<Value> gains;
};

/// Exact twin, from the source that the kernel shares.
[[nodiscard]] ExpectedImprovementOutputs<float> expected_improvement_twin(const ExpectedImprovementDesc& desc,
                                                                          const ExpectedImprovementInputs& inputs);

/// In double, the normal distribution by erfc. Tolerances: roundings of sums against their magnitudes, their effect on
/// the gain by its derivatives (at most 1 in the mean, .4 in the deviation), and 7.5e-8 |z| of the approximation.
[[nodiscard]] ExpectedImprovementOutputs<OracleValue> expected_improvement_oracle(
    const ExpectedImprovementDesc& desc, const ExpectedImprovementInputs& inputs);

/// A posterior of `desc.count` candidates, all of its steps taken.
[[nodiscard]] std::unique_ptr<Problem> make_expected_improvement_problem(const ExpectedImprovementDesc& desc);

}  // namespace yolk::oracle
