// SPDX-License-Identifier: Apache-2.0
// Exact twin of covariance (docs/kernels/covariance.md).
#pragma once

#include <vector>

#include "yolk/primitives/covariance.hpp"

namespace yolk::reference {

struct CovarianceInputs {
    std::vector<float> x;
    std::vector<float> old;  ///< what covariance held: [blocks, n, n], with `average`
    bool first = false;
};

/// [blocks, n, n] each; damped is empty without damping.
struct CovarianceOutputs {
    std::vector<float> covariance;
    std::vector<float> damped;
    std::vector<std::uint32_t> left_out{};  ///< [blocks], as CovarianceViews::left_out; with `average`
};

/// The index of X[block, sample, column] in its view.
[[nodiscard]] std::size_t covariance_element(const CovarianceDesc& desc, std::uint32_t block, std::uint32_t sample,
                                             std::uint32_t column);

/// Exact twin: matmul's (an ascending chain over the samples), then the kernels' steps.
[[nodiscard]] CovarianceOutputs covariance_twin(const CovarianceDesc& desc, const CovarianceInputs& inputs);

}  // namespace yolk::reference
