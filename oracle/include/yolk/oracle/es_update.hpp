// SPDX-License-Identifier: Apache-2.0
// What es_update must give: its exact twin, and its oracle in double precision from materialised perturbations.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "yolk/abi/fitness.h"
#include "yolk/oracle/family.hpp"
#include "yolk/primitives/es_update.hpp"

namespace yolk::oracle {

/// The gradient's bits for int8 weights: element by element in 64-bit integers, whatever the configuration. `weights`:
/// one per pair.
[[nodiscard]] std::vector<float> es_update_twin(const EsUpdateDesc& desc, std::span<const std::int8_t> weights,
                                                const abi::fitness::Summary& summary, const NoiseContext& when);

struct EsUpdateOracle {
    std::vector<double> gradient;
    std::vector<double> magnitude;  ///< the sum of the magnitudes of the terms, in the gradient's units: what rounding
                                    ///< errors scale with
};
/// G = (sqrt(N)/N) sum over members s_m f_m sigma E_m with f = +-w/2, every E_m formed in full, pairs in descending
/// order.
[[nodiscard]] EsUpdateOracle es_update_oracle(const EsUpdateDesc& desc, std::span<const double> weights,
                                              double coefficient, const NoiseContext& when);

/// A problem of no particular values, for benchmarks and the tuner.
[[nodiscard]] std::unique_ptr<Problem> make_es_update_problem(const EsUpdateDesc& desc);

}  // namespace yolk::oracle
