// SPDX-License-Identifier: Apache-2.0
// What fitness must give: its exact twin, and its oracle in double precision from the textbook definitions.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "yolk/abi/fitness.h"
#include "yolk/oracle/family.hpp"
#include "yolk/primitives/fitness.hpp"

namespace yolk::oracle {

struct FitnessTwin {
    std::vector<float> scores;
    std::vector<std::int8_t> integer_weights;  ///< one per pair (or member); empty for float rules
    std::vector<float> float_weights;          ///< one per pair (or member); empty for integer rules
    abi::fitness::Summary summary{};
};
/// The kernels' bits, whatever the configuration. `returns`: [episodes, population].
[[nodiscard]] FitnessTwin fitness_twin(const FitnessDesc& desc, std::span<const float> returns);

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

/// A problem of no particular values, for benchmarks and the tuner.
[[nodiscard]] std::unique_ptr<Problem> make_fitness_problem(const FitnessDesc& desc);

}  // namespace yolk::oracle
