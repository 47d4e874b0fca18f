// SPDX-License-Identifier: Apache-2.0
// What changes from generation to generation: the count, sigma and the learning rate.
#pragma once

#include "yolk/internal/evolve/options.hpp"
#include "yolk/internal/primitives/parameters.hpp"

namespace yolk::evolve {

struct Schedule {
    std::uint64_t seed = 0;
    std::uint32_t generation = 0;
    std::uint32_t noise_reuse = 1;
    float sigma = 0.0F;
    float sigma_decay = 1.0F;
    float learning_rate = 0.0F;
    float learning_rate_decay = 1.0F;

    Schedule() = default;
    /// As after `generations_done` calls of advance().
    explicit Schedule(const EvolutionOptions& options, std::uint32_t generations_done = 0)
        : seed(options.seed),
          generation(generations_done),
          noise_reuse(options.noise_reuse),
          sigma(decayed(options.sigma, options.sigma_decay, generations_done)),
          sigma_decay(options.sigma_decay),
          learning_rate(decayed(options.learning_rate, options.learning_rate_decay, generations_done)),
          learning_rate_decay(options.learning_rate_decay) {}

    [[nodiscard]] NoiseContext noise_time() const noexcept {
        return {.seed = seed, .generation = generation, .time = generation / noise_reuse, .sigma = sigma};
    }
    void advance() noexcept {
        ++generation;
        sigma = decay_once(sigma, sigma_decay);
        learning_rate = decay_once(learning_rate, learning_rate_decay);
    }
};

}  // namespace yolk::evolve
