// SPDX-License-Identifier: Apache-2.0
#include "yolk/evolve/evolution_twin.hpp"

#include <array>
#include <numeric>

#include "yolk/evolve/parameter_setup.hpp"
#include "yolk/evolve/state_digest.hpp"
#include "yolk/evolve/update_twin.hpp"
#include "yolk/primitives/es_update.hpp"
#include "yolk/primitives/optimizer.hpp"
#include "yolk/primitives/rollout.hpp"
#include "yolk/reference/twin.hpp"

#include "evolution_checks.hpp"
#include "summarise.hpp"

namespace yolk::evolve {

TwinEvaluator rollout_twin_evaluator(const RolloutDesc& desc, std::uint32_t first_episode) {
    return [desc, first_episode](std::span<const float> parameters, const NoiseContext& when) {
        std::array<std::uint32_t, kEvaluationCounters> counters{};
        TwinEvaluation scored;
        scored.returns.resize(std::size_t{desc.mean_only ? 1 : desc.members} * desc.episodes);
        reference::twin_of(desc, {parameters, scored.returns, counters}, when,
                           RolloutPart{.first_episode = first_episode});
        scored.evaluations = std::accumulate(counters.begin(), counters.end(), std::uint64_t{0});
        return scored;
    };
}

Result<EvolutionTwin> EvolutionTwin::create(EvolutionTwinParts parts, const EvolutionOptions& options) {
    YOLK_TRY_VOID(validate(options));
    if (options.determinism != Determinism::Exact)
        return bad_input("Only exact determinism has a twin on the host; fast runs differ between devices.");
    if (parts.initial.size() != parts.parameters.element_count()) {
        return bad_input("There are {} initial values for {} parameter elements; the two must be equal.",
                         parts.initial.size(), parts.parameters.element_count());
    }
    EvolutionTwin twin;
    twin.options_ = options;
    twin.schedule_ = Schedule(options, parts.generation);
    twin.parameters_ = parts.initial;
    twin.state_ = parts.optimizer_state;
    const std::size_t state = std::size_t{optimizer_state_arrays(options.optimizer)} * twin.parameters_.size();
    if (twin.state_.empty()) twin.state_.assign(state, 0.0F);
    if (twin.state_.size() != state) {
        return bad_input("There are {} values of optimizer state; {} of {} elements has {}.", twin.state_.size(),
                         to_string(options.optimizer), twin.parameters_.size(), state);
    }
    YOLK_TRY_VOID(check_bounds(parts.bounds, parts.parameters.element_count()));
    twin.parts_ = std::move(parts);
    return twin;
}

Result<GenerationSummary> EvolutionTwin::step() {
    if (!parts_.evaluator)
        return bad_input(
            "This evolution twin has no evaluator, so that it cannot step; give it scored generations by "
            "apply.");
    enter_bounds();
    const NoiseContext when = schedule_.noise_time();
    const TwinEvaluation scored = parts_.evaluator(parameters_, when);
    const std::size_t expected = std::size_t{options_.population} * options_.episodes;
    if (scored.returns.size() != expected) {
        return bad_input("The evaluator gave {} returns; {} were expected.", scored.returns.size(), expected);
    }
    const FitnessDesc fitness{.population = options_.population,
                              .episodes = options_.episodes,
                              .rule = options_.fitness,
                              .robust = options_.robust,
                              .group_size = options_.group_size,
                              .antithetic = options_.antithetic,
                              .config = {}};
    YOLK_TRY(GenerationSummary result, apply(shaped_by_twin(fitness, scored.returns)));
    result.evaluations = scored.evaluations;
    YOLK_TRY_VOID(watch_.take(result));
    return result;
}

Result<GenerationSummary> EvolutionTwin::apply(const ShapedGeneration& shaped) {
    YOLK_TRY_VOID(check_shaped(shaped, options_.antithetic ? options_.population / 2 : options_.population,
                               is_integer_rule(options_.fitness)));
    enter_bounds();
    const NoiseContext when = schedule_.noise_time();
    const EsUpdateDesc update{.parameters = parts_.parameters,
                              .population = options_.population,
                              .rank = options_.rank,
                              .weights = FitnessWeights::I8,
                              .antithetic = options_.antithetic,
                              .config = {}};
    gradient_ = reference::twin_result<float>(update, {shaped.integer_weights, shaped.summary}, when);
    const OptimizerDesc optimizer{.rule = options_.optimizer,
                                  .element_count = parts_.parameters.element_count(),
                                  .beta1 = options_.beta1,
                                  .beta2 = options_.beta2,
                                  .config = {}};
    std::uint32_t skipped = 0;
    reference::twin_of(optimizer, {gradient_, parameters_, state_, skipped}, schedule_.learning_rate, when.generation);
    TwinEvaluation policy;
    if (parts_.policy_evaluator) policy = parts_.policy_evaluator(parameters_, when);
    GenerationSummary result = summarise(shaped.summary, {}, policy.returns, schedule_);
    result.skipped_elements = skipped;
    schedule_.advance();
    return result;
}

Result<void> EvolutionTwin::set_parameters(std::span<const float> values) {
    if (values.size() != parameters_.size()) {
        return bad_input("There are {} values for {} parameter elements; the two must be equal.", values.size(),
                         parameters_.size());
    }
    YOLK_TRY_VOID(check_finite(values));
    parameters_.assign(values.begin(), values.end());
    return {};
}

Result<std::string> EvolutionTwin::state_hash() const {
    return evolve::state_hash(parameters_, state_, schedule_.generation);
}

Result<std::string> EvolutionTwin::state_digest() const {
    return evolve::state_digest(parameters_, state_, schedule_.generation);
}

}  // namespace yolk::evolve
