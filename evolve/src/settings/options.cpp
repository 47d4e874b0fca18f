// SPDX-License-Identifier: Apache-2.0
#include "yolk/internal/evolve/options.hpp"

#include <cmath>

#include "yolk/internal/primitives/parameters.hpp"

namespace yolk::evolve {
namespace {

constexpr std::uint32_t kMaxPopulation = 1U << 20U;
constexpr std::uint32_t kMaxEpisodes = 1U << 20U;
/// The returns are one binding of fp32, and no binding may pass 128 MiB on the portable floor.
constexpr std::uint64_t kMaxReturns = (std::uint64_t{128} << 20U) / 4;

Result<void> validate_sizes(const EvolutionOptions& options) {
    const bool in_range = options.population >= 2 && options.population <= kMaxPopulation;
    if (options.antithetic && (!in_range || options.population % 2 != 0)) {
        return bad_input(
            "The population is {}; it must be an even number from 2 to {}, because members come in pairs of opposite "
            "noise (unless antithetic sampling is turned off).",
            options.population, kMaxPopulation);
    }
    if (!in_range) {
        return bad_input("The population is {}; it must be from 2 to {}.", options.population, kMaxPopulation);
    }
    if (options.rank < 1 || options.rank > kMaxRank) {
        return bad_input("The rank is {}; it must be from 1 to {}.", options.rank, kMaxRank);
    }
    if (options.noise_reuse < 1) {
        return bad_input("The noise reuse is 0; it must be at least 1 (1: fresh noise in every generation).");
    }
    if (options.episodes < 1 || options.episodes > kMaxEpisodes) {
        return bad_input("The episodes per member are {}; they must be from 1 to {}.", options.episodes, kMaxEpisodes);
    }
    if (std::uint64_t{options.population} * options.episodes > kMaxReturns) {
        return bad_input(
            "A population of {} with {} episodes each makes {} returns; at most {} fit a buffer on every device. Lower "
            "one of the two.",
            options.population, options.episodes, std::uint64_t{options.population} * options.episodes, kMaxReturns);
    }
    return {};
}

/// `name` reads as the start of a sentence: "Sigma", "The learning rate".
Result<void> validate_scale(const char* name, float value) {
    if (!std::isfinite(value) || value < kMinScale) {
        return bad_input("{} is {}; it must be a finite number of at least 2^-40 (9.1e-13).", name, value);
    }
    return {};
}

Result<void> validate_decay(const char* name, float value) {
    if (!(value > 0.0F && value <= 1.0F)) {
        return bad_input(
            "{} is {}; it must be above 0 and at most 1 (1: no decay), as it multiplies once per generation.", name,
            value);
    }
    return {};
}

Result<void> validate_beta(const char* name, float value) {
    if (!(value >= 0.0F && value < 1.0F)) {
        return bad_input("{} is {}; it must be at least 0 and below 1.", name, value);
    }
    return {};
}

Result<void> validate_fitness(const EvolutionOptions& options) {
    if (options.robust && options.fitness != FitnessRule::PairDifference) {
        return bad_input(
            "'robust' scales pair differences; with the fitness rule {} it has no meaning. Leave it out, or choose {}.",
            to_string(options.fitness), to_string(FitnessRule::PairDifference));
    }
    if (!options.antithetic && is_pair_rule(options.fitness)) {
        return bad_input(
            "The fitness rule {} compares the two members of a pair, and without antithetic sampling there are no "
            "pairs. Choose {}, {} or {} (the last two with fast determinism).",
            to_string(options.fitness), to_string(FitnessRule::CentredRank), to_string(FitnessRule::ZScore),
            to_string(FitnessRule::GroupZScore));
    }
    const bool grouped = options.fitness == FitnessRule::GroupZScore;
    if (!grouped && options.group_size != 0) {
        return bad_input("The group size is {}, but the fitness rule {} has no groups. Leave it out, or choose {}.",
                         options.group_size, to_string(options.fitness), to_string(FitnessRule::GroupZScore));
    }
    if (grouped && (options.group_size < 2 || options.population % options.group_size != 0)) {
        return bad_input("The group size is {}; with {} it must be at least 2 and divide the population of {}.",
                         options.group_size, to_string(options.fitness), options.population);
    }
    if (options.determinism == Determinism::Exact && !is_integer_rule(options.fitness)) {
        return bad_input(
            "The fitness rule {} ends in floats, which differ between devices; exact determinism admits {}, {} and {}. "
            "Choose one of these, or fast determinism.",
            to_string(options.fitness), to_string(FitnessRule::PairDifference), to_string(FitnessRule::PairSign),
            to_string(FitnessRule::CentredRank));
    }
    return {};
}

}  // namespace

Result<void> validate(const EvolutionOptions& options) {
    YOLK_TRY_VOID(validate_sizes(options));
    YOLK_TRY_VOID(validate_scale("Sigma", options.sigma));
    YOLK_TRY_VOID(validate_scale("The learning rate", options.learning_rate));
    YOLK_TRY_VOID(validate_decay("The decay of sigma", options.sigma_decay));
    YOLK_TRY_VOID(validate_decay("The decay of the learning rate", options.learning_rate_decay));
    YOLK_TRY_VOID(validate_beta("Beta 1", options.beta1));
    YOLK_TRY_VOID(validate_beta("Beta 2", options.beta2));
    return validate_fitness(options);
}

float decay_once(float value, float decay) noexcept {
    const float next = value * decay;
    return next < kMinScale ? 0.0F : next;
}

float decayed(float start, float decay, std::uint32_t generation) noexcept {
    if (decay == 1.0F) return start;  // any other decay lowers the value by an ulp at least, so the loop below ends
    float value = start;
    for (std::uint32_t g = 0; g < generation && value > 0.0F; ++g) value = decay_once(value, decay);
    return value;
}

}  // namespace yolk::evolve
