// SPDX-License-Identifier: Apache-2.0
#include "yolk/reference/expected_improvement.hpp"

#include <numbers>

#include "yolk/exact/exact_improvement.h"

namespace yolk::reference {

ExpectedImprovementOutputs<float> expected_improvement_twin(const ExpectedImprovementDesc& desc,
                                                            const ExpectedImprovementInputs& inputs) {
    ExpectedImprovementOutputs<float> out;
    const ExpectedImprovementValues& v = inputs.values;
    for (std::size_t c = 0; c < desc.count; ++c) {
        float variance = inputs.variances[c];
        for (std::size_t s = 0; s < v.steps; ++s) {
            variance = exact::exact_variance_less(variance, inputs.left[s * desc.stride + c],
                                                  inputs.right[s * desc.stride + c]);
        }
        variance = exact::exact_least_variance(variance);
        out.variances.push_back(variance);
        out.gains.push_back(exact::exact_gain(inputs.prior[c], inputs.scores[c], inputs.scores[desc.stride + c],
                                              variance, v.level, v.best, v.deviation, v.mean_slack, v.variance_slack,
                                              v.stretch));
    }
    return out;
}

}  // namespace yolk::reference
