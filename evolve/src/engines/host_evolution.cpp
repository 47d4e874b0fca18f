// SPDX-License-Identifier: Apache-2.0
#include "host_evolution.hpp"

#include <algorithm>
#include <utility>

#include "member_sums.hpp"
#include "summarise.hpp"
#include "yolk/internal/evolve/schedule.hpp"
#include "yolk/internal/evolve/shaping.hpp"

namespace yolk::evolve {

Result<std::unique_ptr<HostEvolution>> HostEvolution::create(PoolParts parts, const EvolutionOptions& options,
                                                             bool has_other_ranks) {
    YOLK_TRY_VOID(validate(options));
    if (options.determinism != Determinism::Exact)
        return bad_input("Only exact determinism has a twin on the host; fast runs differ between devices.");
    const bool has_stages = parts.stages.shape || parts.stages.update || parts.stages.optimize;
    if (has_stages || parts.policy || has_other_ranks) {
        return bad_input(
            "A run on the host takes no other ranks, no stages of the caller's and no policy evaluator of a device; "
            "here are {}.",
            has_stages     ? "stages"
            : parts.policy ? "policy evaluators"
                           : "several ranks");
    }
    if (parts.mean_scores > kMostMeanScores)
        return bad_input("{} scores of the mean were asked for; {} are the most.", parts.mean_scores, kMostMeanScores);
    YOLK_TRY_VOID(check_state(parts.parameters, parts.initial, parts.optimizer_state, options));
    YOLK_TRY_VOID(check_bounds(parts.bounds, parts.parameters.element_count()));
    auto made = std::make_unique<HostEvolution>();
    if (parts.members) {
        YOLK_TRY(made->evaluator, parts.members(nullptr, nullptr));
        YOLK_TRY_VOID(check_members(made->evaluator.get(), "the host", options));
        made->returns.assign(std::size_t{options.population} * options.episodes, 0.0F);
    }
    made->state = {.parameters = std::move(parts.initial),
                   .optimizer = std::move(parts.optimizer_state),
                   .generation = parts.generation};
    made->state.optimizer.resize(optimizer_state_arrays(options.optimizer) * made->state.parameters.size(), 0.0F);
    made->parts = std::move(parts);
    made->options = options;
    return made;
}

Result<void> HostEvolution::begin() {
    if (!evaluator) {
        return bad_input(
            "This evolution has no evaluator, so that it cannot step: it needs PoolParts::members, which makes one. "
            "Else give it scored generations by apply.");
    }
    move_into_bounds(parts.bounds, state.parameters);
    const NoiseContext when = Schedule(options, state.generation).noise_time();
    if (parts.mean_scores > 0) mean_parameters = state.parameters;
    if (parts.begin) YOLK_TRY_VOID(parts.begin(state.parameters, when));
    return evaluator->begin(state.parameters, when);
}

Result<std::uint64_t> HostEvolution::evaluate(const MemberRange& members, std::span<float> to) {
    if (parts.mean_scores > 0 && members.first == 0)
        return evaluator->evaluate_with_mean(members, to, std::span(scores_of_mean).first(parts.mean_scores));
    return evaluator->evaluate(members, to);
}

Result<GenerationSummary> HostEvolution::step() {
    YOLK_TRY_VOID(begin());
    std::uint64_t evaluations = 0;
    std::vector<std::uint64_t> sums(parts.counts.words);
    const std::uint32_t most = std::max(1U, evaluator->most_members());
    std::vector<float> part;
    for (std::uint32_t first = 0; first < options.population; first += std::min(most, options.population - first)) {
        const MemberRange members{.first = first, .count = std::min(most, options.population - first)};
        part.assign(std::size_t{members.count} * options.episodes, 0.0F);
        YOLK_TRY(const std::uint64_t made, evaluate(members, part));
        evaluations += made;
        YOLK_TRY(const std::span<const std::uint32_t> counted, counted_by(*evaluator, members, sums.size()));
        add_counts(counted, sums);
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
    last_shaped.tail = tail_after(parts.counts, state.parameters, sums);
    YOLK_TRY(GenerationSummary summary, apply(last_shaped, {}));
    summary.evaluations = evaluations;
    return summary;
}

Result<GenerationSummary> HostEvolution::apply(const ShapedGeneration& given, std::span<const float> gradient) {
    YOLK_TRY_VOID(check_shaped(given, options.antithetic ? options.population / 2 : options.population,
                               is_integer_rule(options.fitness)));
    YOLK_TRY_VOID(check_tail(given, parts.parameters.element_count()));
    if (!gradient.empty()) YOLK_TRY_VOID(check_gradient(gradient, parts.parameters.element_count()));
    move_into_bounds(parts.bounds, state.parameters);
    const Schedule schedule(options, state.generation);
    std::uint32_t skipped = 0;
    state = updated_by_twin(std::move(state), parts.parameters, options, given, gradient, &skipped);
    YOLK_TRY(const std::vector<float> policy, policy_returns(schedule.noise_time()));
    GenerationSummary summary = summarise(given.summary, {}, policy, schedule);
    summary.skipped_elements = skipped;
    if (&given != &last_shaped) last_shaped = given;
    return summary;
}

Result<std::vector<float>> HostEvolution::policy_returns(const NoiseContext& when) {
    if (!parts.host_policy) return std::vector<float>();
    std::vector<float> made(parts.host_policy->episodes());
    YOLK_TRY_VOID(parts.host_policy->begin(state.parameters, when));
    YOLK_TRY_VOID(parts.host_policy->evaluate({.first = 0, .count = 1}, made));
    return made;
}

Result<bool> HostEvolution::score_mean() {
    if (parts.mean_scores == 0) return EvolutionEngine::score_mean();
    YOLK_TRY_VOID(begin());
    YOLK_TRY_VOID(evaluate({.first = 0, .count = 0}, {}));
    return true;
}

Result<std::vector<float>> HostEvolution::scores() const { return evolve::mean_scores(returns, options.episodes); }

Result<void> HostEvolution::set_parameters(std::span<const float> to) {
    if (to.size() != state.parameters.size()) {
        return bad_input("There are {} values for {} parameter elements; the two must be equal.", to.size(),
                         state.parameters.size());
    }
    return set_elements(0, to);
}

Result<void> HostEvolution::set_elements(std::uint32_t first, std::span<const float> to) {
    if (first > state.parameters.size() || to.size() > state.parameters.size() - first) {
        return bad_input("There are {} values from element {} on; the parameters have {} elements.", to.size(), first,
                         state.parameters.size());
    }
    YOLK_TRY_VOID(check_finite(to));
    std::ranges::copy(to, state.parameters.begin() + first);
    return {};
}

}  // namespace yolk::evolve
