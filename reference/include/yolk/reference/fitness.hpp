// SPDX-License-Identifier: Apache-2.0
// Exact twin of fitness (docs/kernels/fitness.md).
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "yolk/abi/fitness.h"
#include "yolk/primitives/fitness.hpp"

namespace yolk::reference {

struct FitnessTwin {
    std::vector<float> scores;
    std::vector<std::int8_t> integer_weights;  ///< one per pair (or member); empty for float rules
    std::vector<float> float_weights;          ///< one per pair (or member); empty for integer rules
    abi::fitness::Summary summary{};
};
/// The kernels' bits, whatever the configuration. `returns`: [episodes, population].
[[nodiscard]] FitnessTwin fitness_twin(const FitnessDesc& desc, std::span<const float> returns);

}  // namespace yolk::reference
