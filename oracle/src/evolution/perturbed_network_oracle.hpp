// SPDX-License-Identifier: Apache-2.0
// Oracle of the perturbed_network kernels (docs/kernels/perturbed_network.md).
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "yolk/internal/oracle/family.hpp"
#include "yolk/perturbed_network.hpp"

namespace yolk::oracle {

struct NetworkValues {
    std::vector<std::vector<float>> weights;  ///< by layer [out, in]
    std::vector<std::vector<float>> biases;   ///< by layer [out]; empty where it has none
    std::vector<float> input;
};

/// [members, rows, out], in double, layer by layer with each member's weights formed. A tolerance is what the layer
/// before may be off, times the weights, and the layer's own, which perturbed_linear's and perturbed_vector's oracles
/// derive.
[[nodiscard]] std::vector<OracleValue> perturbed_network_oracle(const PerturbedNetworkDesc& desc,
                                                                const NetworkValues& given, const NoiseContext& when,
                                                                std::int32_t first_member);

}  // namespace yolk::oracle
