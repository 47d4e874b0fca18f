// SPDX-License-Identifier: Apache-2.0
#include "yolk/expected_improvement.hpp"

#include "twin_source.hpp"
#include "yolk/exact/exact_improvement.h"

namespace yolk::reference {

void run_twin(const ExpectedImprovementDesc& desc, const HostViews& views, const ExpectedImprovementValues& v) {
    const auto scores = views.in<float>(0), left = views.in<float>(1), right = views.in<float>(2);
    const auto prior = views.in<float>(3);
    const auto variances = views.out<float>(4), gains = views.out<float>(5);
    for (std::size_t c = 0; c < desc.count; ++c) {
        float variance = variances[c];
        for (std::size_t s = 0; s < v.steps; ++s)
            variance = exact::exact_variance_less(variance, left[s * desc.stride + c], right[s * desc.stride + c]);
        variances[c] = variance = exact::exact_least_variance(variance);
        gains[c] = exact::exact_gain(prior[c], scores[c], scores[desc.stride + c], variance, v.level, v.best,
                                     v.deviation, v.mean_slack, v.variance_slack, v.stretch);
    }
}
template struct Twin<ExpectedImprovementDesc>;

}  // namespace yolk::reference
