// SPDX-License-Identifier: Apache-2.0
// The settings of a run of EGGROLL, and their limits: over a policy (yolk/train.hpp) or over any system
// (yolk/optimize.hpp).
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "yolk/fitness.hpp"
#include "yolk/internal/primitives/determinism.hpp"
#include "yolk/optimizer.hpp"
#include "yolk/result.hpp"

namespace yolk::evolve {

/// Operands of class P below this are flushed to zero (docs/adr/0002-denormals-never-arise.md): a smaller sigma would
/// perturb nothing.
inline constexpr float kMinScale = 0x1p-40F;

/// What differs between kinds of runs.
struct EvolutionDefaults {
    std::uint32_t population = 0;
    float sigma = 0.0F;
    float learning_rate = 0.0F;
};
inline constexpr EvolutionDefaults kPolicyDefaults{.population = 4096, .sigma = 0.2F, .learning_rate = 0.2F};
/// Of systems, whose search coordinates are of the size 1.
inline constexpr EvolutionDefaults kSystemDefaults{.population = 32, .sigma = 0.05F, .learning_rate = 0.1F};

/// A setting that is left out has the default of the kind of run, whatever is written beside it.
template <EvolutionDefaults kDefaults>
struct EvolutionOptionsOf {
    std::uint32_t population = kDefaults.population;  ///< members; 2 ... 2^20, even where they come in pairs
    /// Members in pairs of opposite noise; false: each has its own, and the rules that compare pairs are refused.
    bool antithetic = true;
    std::uint32_t rank = 1;                         ///< of matrices that say none (ParameterDesc::rank); 1 ... 32
    float sigma = kDefaults.sigma;                  ///< finite; at least kMinScale
    float learning_rate = kDefaults.learning_rate;  ///< finite; at least kMinScale
    float sigma_decay = 1.0F;                       ///< per generation, in (0, 1]
    float learning_rate_decay = 1.0F;               ///< per generation, in (0, 1]
    std::uint32_t noise_reuse = 1;                  ///< generations that share noise; at least 1
    FitnessRule fitness = FitnessRule::PairDifference;
    bool robust = false;
    std::uint32_t group_size = 0;  ///< of GroupZScore
    OptimizerRule optimizer = OptimizerRule::Sgd;
    float beta1 = 0.9F;    ///< of momentum and Adam
    float beta2 = 0.999F;  ///< of Adam
    std::uint64_t seed = 1;
    bool freeze_vectors = false;        ///< matrices only
    std::vector<std::string> freeze{};  ///< names of parameters to leave as they are; an unknown one is an error
    std::uint32_t episodes = 1;         ///< per member and generation; at least 1, and at most 2^25 returns in all
    Determinism determinism = Determinism::Exact;

    /// The same settings for another kind of run.
    template <EvolutionDefaults kOther>
    operator EvolutionOptionsOf<kOther>() const {  // NOLINT(google-explicit-constructor): one struct to its users
        return {.population = population,
                .antithetic = antithetic,
                .rank = rank,
                .sigma = sigma,
                .learning_rate = learning_rate,
                .sigma_decay = sigma_decay,
                .learning_rate_decay = learning_rate_decay,
                .noise_reuse = noise_reuse,
                .fitness = fitness,
                .robust = robust,
                .group_size = group_size,
                .optimizer = optimizer,
                .beta1 = beta1,
                .beta2 = beta2,
                .seed = seed,
                .freeze_vectors = freeze_vectors,
                .freeze = freeze,
                .episodes = episodes,
                .determinism = determinism};
    }
};
using EvolutionOptions = EvolutionOptionsOf<kPolicyDefaults>;
using SystemEvolutionOptions = EvolutionOptionsOf<kSystemDefaults>;

/// The first setting outside its limits, as an error that says what was given and what is allowed.
[[nodiscard]] Result<void> validate(const EvolutionOptions& options);

/// One generation's decay of sigma or the learning rate: an fp32 product, zero below kMinScale.
[[nodiscard]] float decay_once(float value, float decay) noexcept;

/// sigma * sigma_decay^generation by repeated decay_once, so that a resumed run has the same bits; learning rate
/// likewise.
[[nodiscard]] float decayed(float start, float decay, std::uint32_t generation) noexcept;

}  // namespace yolk::evolve
