// SPDX-License-Identifier: Apache-2.0
#include "host_evolution.hpp"

#include <algorithm>
#include <utility>

#include "evolution_checks.hpp"
#include "yolk/evolve/shaping.hpp"

namespace yolk::evolve {

Result<std::unique_ptr<HostEvolution>> HostEvolution::create(PoolParts parts, const EvolutionOptions& options) {
    if (!parts.members) return bad_input("A run on the host needs PoolParts::members, which makes its evaluator.");
    const bool has_stages = parts.stages.shape || parts.stages.update || parts.stages.optimize;
    if (has_stages || parts.policy || (parts.exchange != nullptr && parts.exchange->ranks() > 1)) {
        return bad_input(
            "A run on the host takes no other ranks, no stages of the caller's and no policy evaluator; here are {}.",
            has_stages     ? "stages"
            : parts.policy ? "policy evaluators"
                           : "several ranks");
    }
    if (parts.mean_scores > kMostMeanScores)
        return bad_input("{} scores of the mean were asked for; {} are the most.", parts.mean_scores, kMostMeanScores);
    auto made = std::make_unique<HostEvolution>();
    YOLK_TRY(made->twin, EvolutionTwin::create({.parameters = parts.parameters,
                                                .initial = std::move(parts.initial),
                                                .bounds = parts.bounds,
                                                .optimizer_state = std::move(parts.optimizer_state),
                                                .generation = parts.generation},
                                               options));
    YOLK_TRY(made->evaluator, parts.members(nullptr, nullptr));
    YOLK_TRY_VOID(check_members(made->evaluator.get(), "the host", options));
    made->returns.assign(std::size_t{options.population} * options.episodes, 0.0F);
    made->parts = std::move(parts);
    made->options = options;
    return made;
}

Result<void> HostEvolution::begin() {
    twin->enter_bounds();
    const NoiseContext when = twin->noise_time();
    if (parts.mean_scores > 0) mean_parameters.assign(twin->parameters().begin(), twin->parameters().end());
    if (parts.begin) YOLK_TRY_VOID(parts.begin(twin->parameters(), when));
    return evaluator->begin(twin->parameters(), when);
}

Result<std::uint64_t> HostEvolution::evaluate(const MemberRange& members, std::span<float> to) {
    if (parts.mean_scores > 0 && members.first == 0)
        return evaluator->evaluate_with_mean(members, to, std::span(scores_of_mean).first(parts.mean_scores));
    return evaluator->evaluate(members, to);
}

Result<GenerationSummary> HostEvolution::step() {
    YOLK_TRY_VOID(begin());
    std::uint64_t evaluations = 0;
    const std::uint32_t most = std::max(1U, evaluator->most_members());
    std::vector<float> part;
    for (std::uint32_t first = 0; first < options.population; first += std::min(most, options.population - first)) {
        const MemberRange members{.first = first, .count = std::min(most, options.population - first)};
        part.assign(std::size_t{members.count} * options.episodes, 0.0F);
        YOLK_TRY(const std::uint64_t made, evaluate(members, part));
        evaluations += made;
        for (std::size_t episode = 0; episode < options.episodes; ++episode)
            std::copy_n(part.begin() + static_cast<std::ptrdiff_t>(episode * members.count), members.count,
                        returns.begin() + static_cast<std::ptrdiff_t>(episode * options.population + first));
    }
    YOLK_TRY(last_shaped, shape_scores({.population = options.population,
                                        .episodes = options.episodes,
                                        .rule = options.fitness,
                                        .robust = options.robust,
                                        .group_size = options.group_size,
                                        .antithetic = options.antithetic,
                                        .config = {}},
                                       returns));
    YOLK_TRY(GenerationSummary summary, twin->apply(last_shaped));
    summary.evaluations = evaluations;
    return summary;
}

Result<GenerationSummary> HostEvolution::apply(const ShapedGeneration& given, std::span<const float> gradient) {
    if (!gradient.empty())
        return bad_input("A run on the host makes its gradient from the weights; leave the gradient out.");
    YOLK_TRY(const GenerationSummary summary, twin->apply(given));
    last_shaped = given;
    return summary;
}

Result<ShapedGeneration> HostEvolution::shaped() const {
    if (!parts.keep_weights)
        return bad_input("This evolution keeps no weights; ask for them in PoolParts::keep_weights.");
    if (last_shaped.integer_weights.empty() && last_shaped.float_weights.empty())
        return bad_input("There are no weights before the first generation.");
    return last_shaped;
}

Result<bool> HostEvolution::score_mean() {
    if (parts.mean_scores == 0) return EvolutionEngine::score_mean();
    YOLK_TRY_VOID(begin());
    YOLK_TRY_VOID(evaluate({.first = 0, .count = 0}, {}));
    return true;
}

Result<std::vector<float>> HostEvolution::scores() const { return evolve::mean_scores(returns, options.episodes); }

Result<void> HostEvolution::set_elements(std::uint32_t first, std::span<const float> to) {
    std::vector<float> values(twin->parameters().begin(), twin->parameters().end());
    if (first > values.size() || to.size() > values.size() - first) {
        return bad_input("There are {} values from element {} on; the parameters have {} elements.", to.size(), first,
                         values.size());
    }
    std::ranges::copy(to, values.begin() + first);
    return twin->set_parameters(values);
}

}  // namespace yolk::evolve
