// SPDX-License-Identifier: Apache-2.0
#include "pool_evolution.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <numeric>
#include <utility>

#include "evolution_checks.hpp"
#include "stage_calls.hpp"
#include "yolk/core/log.hpp"
#include "yolk/evolve/shaping.hpp"

namespace yolk::evolve {
namespace {

/// Generations between two states that an audit may go back to: a copy of the state each, so not too often; and going
/// back applies at most twice as many.
constexpr std::uint32_t kGenerationsPerBase = 64;
constexpr double kLeadFactor = 4.0;

FitnessDesc fitness_of(const EvolutionOptions& options) {
    return {.population = options.population,
            .episodes = options.episodes,
            .rule = options.fitness,
            .robust = options.robust,
            .group_size = options.group_size,
            .antithetic = options.antithetic,
            .config = {}};
}

}  // namespace

Result<std::unique_ptr<PoolEvolution>> PoolEvolution::create(DevicePool& pool, PoolParts parts,
                                                             const EvolutionOptions& options) {
    auto made = std::make_unique<PoolEvolution>();
    made->pool = &pool;
    pool.begin_run();
    made->state = {.parameters = parts.initial, .optimizer = parts.optimizer_state, .generation = parts.generation};
    made->parts = std::move(parts);
    made->options = options;
    made->trial = UpdateTrial(made->parts.update_by);
    if (made->parts.exchange != nullptr && made->parts.exchange->ranks() > 1) {
        YOLK_TRY(made->team, RankTeam::create(*made->parts.exchange, options));
        made->parts.digest = true;
        if (made->parts.stages.shape)
            return bad_input("A shaping of the caller's needs all returns on one rank; here are {}.",
                             made->parts.exchange->ranks());
    }
    made->begun.assign(pool.size(), 0);
    made->evaluations.assign(pool.size(), 0);
    made->returns.assign(std::size_t{options.population} * options.episodes, 0.0F);
    YOLK_TRY_VOID(made->make_evaluators());
    YOLK_TRY_VOID(made->make_lead());
    if (pool.options().audit > 0.0) made->history = History{.base = made->state};
    return made;
}

Result<void> PoolEvolution::make_evaluators() {
    evaluators.resize(pool->size());
    for (std::size_t i = 0; i < pool->size(); ++i) {
        if (!pool->is_used(i)) continue;
        const bool has_device = i < pool->device_count();
        auto made = parts.members(has_device ? &pool->device(i) : nullptr, has_device ? &pool->dispatcher(i) : nullptr);
        if (!made && !is_of_device(made.error())) return std::move(made).error();
        if (!made) {
            pool->drop(i, made.error().message);
            continue;
        }
        evaluators[i] = std::move(made).value();
        YOLK_TRY_VOID(check_members(evaluators[i].get(), pool->name(i), options));
    }
    if (parts.judge) YOLK_TRY_VOID(check_members(parts.judge.get(), "the judge", options));
    return {};
}

/// Another device evaluates so much faster that it should make the update, too. What it evaluates and what it updates
/// need not be in proportion, so a small lead is no reason to make the plans anew.
bool PoolEvolution::is_led_too_slowly() const {
    // A lead that was not audited to its end could not be named any more.
    if (history) return false;
    const Result<std::size_t> best = pool->lead();
    return best && *best != lead_index && pool->rate(*best) > kLeadFactor * pool->rate(lead_index);
}

/// On the best device: from the state on the host, whatever became of the lead before.
Result<void> PoolEvolution::make_lead() {
    while (true) {
        lead.reset();
        YOLK_TRY(lead_index, pool->lead());
        const Device& device = pool->device(lead_index);
        const auto make = [&]() -> Result<void> {
            EvolutionParts made{.parameters = parts.parameters,
                                .initial = state.parameters,
                                .evaluator = {},
                                .policy_evaluator = {},
                                .config = parts.config,
                                .digest = parts.digest,
                                .keep_weights = false,
                                .optimizer_state = state.optimizer,
                                .generation = state.generation};
            if (parts.policy) {
                YOLK_TRY(made.policy_evaluator, parts.policy(device));
            }
            YOLK_TRY_VOID(check_parts(made, options));
            YOLK_TRY(lead, DeviceEvolution::create(device, pool->dispatcher(lead_index), std::move(made), options));
            return {};
        };
        const Result<void> done = make();
        if (done) {
            lead_verified = state.generation;
            state.optimizer.assign(lead->optimizer_state().begin(), lead->optimizer_state().end());
            return {};
        }
        if (!is_of_device(done.error())) return done;
        pool->drop(lead_index, done.error().message);
    }
}

/// On a worker's thread, or the caller's for the judge: the state does not change meanwhile.
Result<std::vector<std::byte>> PoolEvolution::evaluate(MemberEvaluator& evaluator, const MemberRange& members,
                                                       std::uint64_t& count) const {
    std::vector<std::byte> result(std::size_t{members.count} * options.episodes * sizeof(float));
    const std::span values(reinterpret_cast<float*>(result.data()), result.size() / sizeof(float));
    YOLK_TRY(count, evaluator.evaluate(members, values));
    return result;
}

void PoolEvolution::keep(const MemberRange& members, std::span<const std::byte> result) {
    const std::size_t row_bytes = sizeof(float) * members.count;
    for (std::size_t episode = 0; episode < options.episodes; ++episode)
        std::memcpy(&returns[episode * options.population + members.first], result.data() + episode * row_bytes,
                    row_bytes);
}

std::vector<std::byte> PoolEvolution::kept(const MemberRange& members) const {
    const std::size_t row_bytes = sizeof(float) * members.count;
    std::vector<std::byte> result(row_bytes * options.episodes);
    for (std::size_t episode = 0; episode < options.episodes; ++episode)
        std::memcpy(result.data() + episode * row_bytes, &returns[episode * options.population + members.first],
                    row_bytes);
    return result;
}

MemberRange PoolEvolution::mine() const {
    return team ? team->mine() : MemberRange{.first = 0, .count = options.population};
}

Result<void> PoolEvolution::score() {
    const NoiseContext when = now();
    std::ranges::fill(evaluations, 0);
    std::uint32_t largest = options.population;
    for (const auto& evaluator : evaluators) {
        if (evaluator) largest = std::min(largest, evaluator->most_members());
    }
    const auto on_worker = [&](std::size_t worker, const MemberRange& members) -> Result<std::vector<std::byte>> {
        MemberEvaluator& evaluator = *evaluators[worker];
        if (begun[worker] != state.generation + 1) {
            YOLK_TRY_VOID(evaluator.begin(state.parameters, when));
            begun[worker] = state.generation + 1;
        }
        std::uint64_t count = 0;
        YOLK_TRY(std::vector<std::byte> result, evaluate(evaluator, members, count));
        evaluations[worker] += count;
        return result;
    };
    PooledWork work{.members = mine(),
                    .granularity = options.antithetic ? 2U : 1U,
                    .largest_chunk = largest,
                    .generation = state.generation,
                    .evaluate = on_worker,
                    .keep = [&](const auto& members, std::span<const std::byte> result) { keep(members, result); },
                    .kept = [&](const auto& members) { return kept(members); }};
    if (parts.judge) {
        work.judge = [&](const MemberRange& members) -> Result<std::vector<std::byte>> {
            YOLK_TRY_VOID(parts.judge->begin(state.parameters, when));
            std::uint64_t count = 0;
            return evaluate(*parts.judge, members, count);
        };
    }
    YOLK_TRY(last, pool->evaluate(work));
    if (last.unaudited > 0 && !std::exchange(has_told_unaudited, true)) {
        log_warning(
            fmt::format("In generation {} {} members were drawn for an audit, and no second device is left to "
                        "make it. Later ones go unaudited without a notice.",
                        state.generation, last.unaudited));
    }
    return {};
}

Result<RankTeam::Scored> PoolEvolution::score_together() {
    const auto scored_here = [&]() -> Result<RankTeam::Scored> {
        YOLK_TRY_VOID(score());
        return RankTeam::Scored{
            .evaluations = std::accumulate(evaluations.begin(), evaluations.end(), std::uint64_t{0}),
            .verified = pool->verified(),
            .suspect_since = last.suspect_since.value_or(UINT32_MAX),
            .seconds = last.seconds};
    };
    return team ? team->after_scores(scored_here()) : scored_here();
}

Result<void> PoolEvolution::compare_states(const Result<GenerationSummary>& updated) {
    const Result<std::string> digest = updated ? lead->state_digest() : Result<std::string>(updated.error());
    return team->compare(digest, pool->name(lead_index), updated ? updated->generation : state.generation);
}

/// `members` are those that were evaluated here.
Result<ShapedGeneration> PoolEvolution::shape(const MemberRange& members) {
    if (parts.stages.shape) return call_shape(parts.stages, returns, now(), options);
    if (!team) return shape_scores(fitness_of(options), returns);
    std::vector<float> mine(std::size_t{members.count} * options.episodes);
    for (std::size_t episode = 0; episode < options.episodes; ++episode)
        std::copy_n(returns.begin() + static_cast<std::ptrdiff_t>(episode * options.population + members.first),
                    members.count, mine.begin() + static_cast<std::ptrdiff_t>(episode * members.count));
    return shape_scores(fitness_of(options), members, mine, team->exchange());
}

Result<GenerationSummary> PoolEvolution::step() {
    while (true) {
        const MemberRange members = mine();  // its share of the next generation follows from this one's rates
        YOLK_TRY(const RankTeam::Scored scored, score_together());
        verified = scored.verified;
        if (scored.suspect_since != UINT32_MAX) {
            YOLK_TRY_VOID(go_back(scored.suspect_since));
            continue;
        }
        YOLK_TRY(ShapedGeneration made, shape(members));
        const State before = history ? state : State();
        Result<GenerationSummary> summary = team ? update_in_team(made) : update(made, {});
        if (team) YOLK_TRY_VOID(compare_states(summary));
        if (!summary) return summary;
        if (!team) {
            YOLK_TRY(const bool passes, update_passes(before, made));
            if (!passes) {
                YOLK_TRY_VOID(go_back(std::min(lead_verified, before.generation)));
                continue;
            }
        }
        summary->evaluations = scored.evaluations;
        remember(made);
        last_shaped = std::move(made);
        return summary;
    }
}

/// The ranks' states were the same before it, so an audit that finds the lead's update wrong has nothing earlier to
/// doubt, and the other ranks nothing to do.
Result<GenerationSummary> PoolEvolution::update_in_team(const ShapedGeneration& made) {
    while (true) {
        const State before = history ? state : State();
        Result<GenerationSummary> summary = update(made, {});
        if (!summary) return summary;
        YOLK_TRY(const bool passes, update_passes(before, made));
        if (passes) return summary;
        YOLK_TRY_VOID(go_back(before.generation));
    }
}

Result<GenerationSummary> PoolEvolution::apply(const ShapedGeneration& given, std::span<const float> gradient) {
    // Before functions of the caller's get them.
    YOLK_TRY_VOID(check_shaped(given, options.antithetic ? options.population / 2 : options.population,
                               is_integer_rule(options.fitness)));
    if (!gradient.empty()) YOLK_TRY_VOID(check_gradient(gradient, parts.parameters.element_count()));
    YOLK_TRY(const GenerationSummary summary, update(given, gradient));
    remember(given);
    if (!gradient.empty()) forget_history();
    last_shaped = given;
    return summary;
}

/// A lead that fails is followed by the next device, which begins where the last generation ended.
Result<GenerationSummary> PoolEvolution::update(const ShapedGeneration& given, std::span<const float> gradient) {
    while (true) {
        if (!pool->is_used(lead_index) || is_led_too_slowly()) YOLK_TRY_VOID(make_lead());
        Result<GenerationSummary> summary = timed_update(given, gradient);
        if (summary) {
            state.parameters.assign(lead->parameters().begin(), lead->parameters().end());
            state.optimizer.assign(lead->optimizer_state().begin(), lead->optimizer_state().end());
            state.generation = lead->generations();
            return summary;
        }
        if (!is_of_device(summary.error())) return summary;
        pool->drop(lead_index, summary.error().message);
    }
}

Result<GenerationSummary> PoolEvolution::update_on_lead(const ShapedGeneration& given,
                                                        std::span<const float> gradient) {
    if (!parts.stages.update && !parts.stages.optimize) return lead->apply(given, gradient);
    std::vector<float> direction(gradient.begin(), gradient.end());
    if (direction.empty()) {
        YOLK_TRY(direction, parts.stages.update
                                ? call_update(parts.stages, given, now(), parts.parameters.element_count())
                                : lead->estimate(given));
    }
    if (!parts.stages.optimize) return lead->apply(given, direction);
    State next = state;
    YOLK_TRY_VOID(call_optimize(parts.stages, {.gradient = direction,
                                               .parameters = next.parameters,
                                               .state = next.optimizer,
                                               .learning_rate = Schedule(options, state.generation).learning_rate,
                                               .generation = state.generation}));
    return lead->adopt(given, next.parameters, next.optimizer);
}

void PoolEvolution::remember(const ShapedGeneration& given) {
    if (!history) return;
    history->since.push_back(given);
    if (history->later_base && verified >= history->later_base->generation) {
        const std::uint32_t passed = history->later_base->generation - history->base.generation;
        history->base = *std::exchange(history->later_base, std::nullopt);
        history->since.erase(history->since.begin(), history->since.begin() + passed);
    }
    if (!history->later_base && state.generation - history->base.generation >= kGenerationsPerBase)
        history->later_base = state;
}

/// What came from outside cannot be made again: an audit goes back to here and no further.
void PoolEvolution::forget_history() {
    if (history) history = History{.base = state};
}

/// To before this generation, by what is remembered of those since the base.
Result<void> PoolEvolution::go_back(std::uint32_t generation) {
    const std::uint32_t from = state.generation;
    const std::uint32_t target = std::max(generation, history->base.generation);
    std::vector<ShapedGeneration> again = std::exchange(history->since, {});
    again.resize(target - history->base.generation);
    history->later_base.reset();
    state = history->base;
    YOLK_TRY_VOID(make_lead());
    for (const ShapedGeneration& given : again) {
        YOLK_TRY_VOID(update(given, {}));
        remember(given);
    }
    std::ranges::fill(begun, 0);
    log_warning(fmt::format(
        "The run goes back from generation {} to generation {}: what the dropped device evaluated since then may be "
        "wrong.",
        from, target));
    return {};
}

Result<ShapedGeneration> PoolEvolution::shaped() const {
    if (!parts.keep_weights)
        return bad_input("This evolution keeps no weights; ask for them in PoolParts::keep_weights.");
    if (last_shaped.integer_weights.empty() && last_shaped.float_weights.empty())
        return bad_input("There are no weights before the first generation.");
    return last_shaped;
}

Result<std::vector<float>> PoolEvolution::scores() const { return mean_scores(returns, options.episodes); }

Result<void> PoolEvolution::set_parameters(std::span<const float> to) {
    YOLK_TRY_VOID(lead->set_parameters(to));
    state.parameters.assign(to.begin(), to.end());
    forget_history();
    return {};
}

Result<void> PoolEvolution::set_elements(std::uint32_t first, std::span<const float> to) {
    YOLK_TRY_VOID(lead->set_elements(first, to));
    std::ranges::copy(to, state.parameters.begin() + first);
    forget_history();
    return {};
}

}  // namespace yolk::evolve
