// SPDX-License-Identifier: Apache-2.0
// The oracle of optimizer, in double precision.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "yolk/primitives/optimizer.hpp"

namespace yolk::oracle {

/// A number in double and how far a right fp32 computation may be off it.
struct OptimizerValue {
    double value = 0.0;
    double tolerance = 0.0;
};
struct OptimizerOracle {
    std::vector<OptimizerValue> parameters;
    std::vector<OptimizerValue> state;
};
/// One step from given fp32 values by the textbook formulas, with pow, sqrt and division in double.
[[nodiscard]] OptimizerOracle optimizer_oracle(const OptimizerDesc& desc, std::span<const float> gradient,
                                               std::span<const float> parameters, std::span<const float> state,
                                               float learning_rate, std::uint32_t step);

}  // namespace yolk::oracle
