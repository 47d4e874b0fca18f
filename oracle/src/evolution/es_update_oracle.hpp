// SPDX-License-Identifier: Apache-2.0
// The oracle of es_update, in double precision from materialised perturbations.
#pragma once

#include <span>
#include <vector>

#include "yolk/es_update.hpp"
#include "yolk/internal/abi/fitness.h"

namespace yolk::oracle {

struct EsUpdateOracle {
    std::vector<double> gradient;
    std::vector<double> magnitude;  ///< the sum of the magnitudes of the terms, in the gradient's units: what rounding
                                    ///< errors scale with
};
/// G = (sqrt(N)/N) sum over members s_m f_m sigma E_m with f = +-w/2, every E_m formed in full, pairs in descending
/// order.
[[nodiscard]] EsUpdateOracle es_update_oracle(const EsUpdateDesc& desc, std::span<const double> weights,
                                              double coefficient, const NoiseContext& when);

}  // namespace yolk::oracle
