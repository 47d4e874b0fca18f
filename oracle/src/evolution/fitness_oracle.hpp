// SPDX-License-Identifier: Apache-2.0
// The oracle of fitness, in double precision from the textbook definitions.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "yolk/fitness.hpp"
#include "yolk/internal/abi/fitness.h"

namespace yolk::oracle {

/// A value and how far a right kernel may be off it.
struct FitnessValue {
    double value = 0.0;
    double tolerance = 0.0;
};
struct FitnessOracle {
    std::vector<FitnessValue> weights;  ///< one per pair (or member); in steps of int8 for integer rules
    FitnessValue coefficient, mean, variance;
    double best = 0.0;
    double worst = 0.0;
    std::uint32_t not_finite_count = 0;
    std::uint32_t first_not_finite = 0xFFFFFFFFU;
};
/// The mean over the episodes of each member, in double; where it is not finite, the value is NaN.
[[nodiscard]] std::vector<FitnessValue> fitness_score_oracle(const FitnessDesc& desc, std::span<const float> returns);
/// Everything after the scores, from the fp32 scores as the kernel wrote them.
[[nodiscard]] FitnessOracle fitness_oracle(const FitnessDesc& desc, std::span<const float> scores);

}  // namespace yolk::oracle
