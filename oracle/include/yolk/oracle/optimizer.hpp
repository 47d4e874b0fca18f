// SPDX-License-Identifier: Apache-2.0
// What optimizer must give: its exact twin, and its oracle in double precision.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "yolk/oracle/family.hpp"
#include "yolk/primitives/optimizer.hpp"

namespace yolk::oracle {

/// One step in place, with the kernel's bits. `state`: as OptimizerViews::state.
void optimizer_twin(const OptimizerDesc& desc, std::span<const float> gradient, std::span<float> parameters,
                    std::span<float> state, float learning_rate, std::uint32_t step);

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

/// A problem of no particular values, for benchmarks and the tuner.
[[nodiscard]] std::unique_ptr<Problem> make_optimizer_problem(const OptimizerDesc& desc);

}  // namespace yolk::oracle
