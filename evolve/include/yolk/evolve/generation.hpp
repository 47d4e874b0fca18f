// SPDX-License-Identifier: Apache-2.0
// What one generation came to; the same struct from a device (evolution.hpp) and from its exact twin
// (evolution_twin.hpp).
#pragma once

#include <cstdint>
#include <optional>

#include "yolk/primitives/parameters.hpp"

namespace yolk::evolve {

struct GenerationSummary {
    std::uint32_t generation = 0;  ///< from 0
    float mean = 0.0F;             ///< of the scores, not-finite ones counted as the worst finite
    float best = 0.0F;
    float worst = 0.0F;
    float variance = 0.0F;                         ///< population variance
    std::uint32_t not_finite = 0;                  ///< members whose score was not finite
    std::uint32_t first_not_finite = 0xFFFFFFFFU;  ///< the lowest of them
    std::uint64_t evaluations = 0;  ///< forward passes of the population (the unperturbed policy's are not counted)
    /// Mean return of the unperturbed policy after the update; nothing where no policy evaluator was given.
    std::optional<float> policy_mean;
    float sigma = 0.0F;  ///< as this generation used them
    float learning_rate = 0.0F;
};

}  // namespace yolk::evolve
