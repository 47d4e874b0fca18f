// SPDX-License-Identifier: Apache-2.0
// Exact twin of expected_improvement (docs/kernels/expected_improvement.md).
#pragma once

#include <vector>

#include "yolk/primitives/expected_improvement.hpp"

namespace yolk::reference {

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

}  // namespace yolk::reference
