// SPDX-License-Identifier: Apache-2.0
#include "pool_evolution.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <utility>

#include "evolution_checks.hpp"
#include "stage_calls.hpp"
#include "yolk/internal/evolve/shaping.hpp"
#include "yolk/log.hpp"

namespace yolk::evolve {
namespace {

constexpr double kLeadFactor = 4.0;
// A machine that stands still for a moment makes any device seem a hundred times slower, for two measured generations
// in a row at most in 20,000 of two CPU drivers on busy cores.
constexpr std::uint32_t kSlowInARow = 8;

}  // namespace

Result<std::unique_ptr<PoolEvolution>> PoolEvolution::create(DevicePool pool, Exchange* exchange, PoolParts parts,
                                                             const EvolutionOptions& options) {
    auto made = std::make_unique<PoolEvolution>();
    made->pool = pool;
    pool.begin_run();
    made->state = {.parameters = parts.initial, .optimizer = parts.optimizer_state, .generation = parts.generation};
    made->parts = std::move(parts);
    made->options = options;
    made->trial = UpdateTrial(made->parts.update_by);
    if (exchange != nullptr && exchange->ranks() > 1) {
        YOLK_TRY(made->team, RankTeam::create(*exchange, options));
        made->parts.digest = true;
        if (made->parts.stages.shape)
            return bad_input("A shaping of the caller's needs all returns on one rank; here are {}.",
                             exchange->ranks());
    }
    if (made->parts.mean_scores > kMostMeanScores)
        return bad_input("{} scores of the mean were asked for; {} are the most.", made->parts.mean_scores,
                         kMostMeanScores);
    YOLK_TRY_VOID(check_bounds(made->parts.bounds, made->parts.parameters.element_count()));
    made->begun.assign(pool.size(), 0);
    made->evaluations.assign(options.population, 0);
    made->returns.assign(std::size_t{options.population} * options.episodes, 0.0F);
    made->counts.assign(std::size_t{options.population} * made->parts.counts.words, 0);
    YOLK_TRY_VOID(made->make_evaluators());
    YOLK_TRY_VOID(made->make_lead());
    if (pool.options().audit > 0.0) made->history = History{.base = made->state};
    if (made->history && pool.in_use() == 1 && !made->parts.judge) {
        made->has_told_unaudited = true;
        log_warning(
            fmt::format("Audits of a share of {} were asked for, but {} is the only one left of {}, and its members "
                        "have no exact twin: only its updates are audited.",
                        pool.options().audit, pool.name(made->lead_index), pool.size()));
    }
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
bool PoolEvolution::seems_led_too_slowly() const {
    const Result<std::size_t> best = pool->lead();
    return best && *best != lead_index && pool->rate(*best) > kLeadFactor * pool->rate(lead_index);
}

/// Plans that are made anew take seconds, and memory that compilers keep: not for a moment's slowness.
bool PoolEvolution::is_led_too_slowly() const {
    // A lead that was not audited to its end could not be named any more.
    return !history && slow_in_a_row >= kSlowInARow && seems_led_too_slowly();
}

/// After members were evaluated. Where the lead had none, nothing new is known of it.
void PoolEvolution::watch_lead() {
    if (last.shares[lead_index].chunks == 0) return;
    slow_in_a_row = seems_led_too_slowly() ? slow_in_a_row + 1 : 0;
}

/// On the best device: from the state on the host, whatever became of the lead before.
Result<void> PoolEvolution::make_lead() {
    if (lead) has_named_not_finite = has_named_not_finite || lead->not_finite_named;
    slow_in_a_row = 0;
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
                                .bounds = parts.bounds,
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
            lead->not_finite_named = has_named_not_finite;
            state.optimizer.assign(lead->optimizer_state().begin(), lead->optimizer_state().end());
            return {};
        }
        if (!is_of_device(done.error())) return done;
        pool->drop(lead_index, done.error().message);
    }
}

Result<GenerationSummary> PoolEvolution::step() {
    while (true) {
        const MemberRange members = mine();  // its share of the next generation follows from this one's rates
        YOLK_TRY(const RankTeam::Scored scored, score_together());
        verified = scored.verified;
        if (scored.suspect_since != kNothingSuspect) {
            YOLK_TRY_VOID(go_back_together(scored.suspect_since));
            continue;
        }
        YOLK_TRY(ShapedGeneration made, shape(members));
        YOLK_TRY(made.tail, follow_counts(members));
        YOLK_TRY(Updated updated, update_and_audit(made));
        if (updated.suspect_since != kNothingSuspect) {
            YOLK_TRY_VOID(go_back_together(updated.suspect_since));
            continue;
        }
        updated.summary.evaluations = scored.evaluations;
        remember(made);
        last_shaped = std::move(made);
        return updated.summary;
    }
}

Result<PoolEvolution::Updated> PoolEvolution::update_and_audit(const ShapedGeneration& made) {
    const auto on_this_rank = [&]() -> Result<Updated> {
        Updated updated;
        YOLK_TRY(updated.summary, update(made, {}));
        YOLK_TRY(updated.suspect_since, audit_update(made));
        return updated;
    };
    Result<Updated> updated = on_this_rank();
    if (!team) return updated;
    YOLK_TRY(const std::uint32_t suspect, compare_states(updated, made));
    updated->suspect_since = suspect;
    return updated;
}

/// The first generation that may be wrong on any rank.
Result<std::uint32_t> PoolEvolution::compare_states(const Result<Updated>& updated, const ShapedGeneration& made) {
    const Result<std::string> digest = updated ? lead->state_digest() : Result<std::string>(updated.error());
    const auto on_this_rank = [&]() -> Result<RankTeam::State> {
        if (!updated) return updated.error();
        return RankTeam::State{
            .digest = digest ? *digest : "", .device = pool->name(lead_index), .suspect_since = updated->suspect_since};
    };
    YOLK_TRY(const std::vector<RankTeam::State> states, team->after_update(on_this_rank()));
    std::uint32_t suspect = kNothingSuspect;
    for (const RankTeam::State& each : states) suspect = std::min(suspect, each.suspect_since);
    if (suspect != kNothingSuspect) return suspect;
    // Only now: what a wrong device did may have no digest, because it is not finite, and is not gone on with.
    if (std::ranges::any_of(states, [](const RankTeam::State& each) { return each.digest.empty(); }))
        YOLK_TRY_VOID(agree(team->exchange(), digest ? Result<void>() : Result<void>(digest.error())));
    if (is_integer_rule(options.fitness)) {
        RankTeam::Judge judge;
        if (!has_own_update()) judge = [&] { return right_digest(made); };
        YOLK_TRY_VOID(team->check(states, updated->summary.generation, judge));
    } else if (std::ranges::any_of(states, [&](const auto& each) { return each.digest != states.front().digest; })) {
        YOLK_TRY_VOID(adopt_first_rank());
    }
    return kNothingSuspect;
}

/// Sums of float weights are the same only within a tolerance on other devices, so that ranks would drift apart.
Result<void> PoolEvolution::adopt_first_rank() {
    Exchange& exchange = team->exchange();
    const std::size_t parameter_bytes = state.parameters.size() * sizeof(float);
    const std::size_t optimizer_bytes = state.optimizer.size() * sizeof(float);
    std::vector<std::byte> mine(exchange.rank() == 0 ? parameter_bytes + optimizer_bytes : 0);
    if (!mine.empty()) {
        std::memcpy(mine.data(), state.parameters.data(), parameter_bytes);
        if (optimizer_bytes > 0) std::memcpy(mine.data() + parameter_bytes, state.optimizer.data(), optimizer_bytes);
    }
    YOLK_TRY(const std::vector<std::byte> first, share_from(exchange, 0, mine));
    const auto take = [&]() -> Result<void> {
        if (exchange.rank() == 0) return {};
        if (first.size() != parameter_bytes + optimizer_bytes) {
            return failed_work("Rank 0 sent a state of {} bytes; the state of this rank has {}.", first.size(),
                               parameter_bytes + optimizer_bytes);
        }
        std::memcpy(state.parameters.data(), first.data(), parameter_bytes);
        if (optimizer_bytes > 0) std::memcpy(state.optimizer.data(), first.data() + parameter_bytes, optimizer_bytes);
        return on_lead([&] { return lead->put_state(state.parameters, state.optimizer); });
    };
    return agree(exchange, take());
}

Result<GenerationSummary> PoolEvolution::apply(const ShapedGeneration& given, std::span<const float> gradient) {
    // Before functions of the caller's get them.
    YOLK_TRY_VOID(check_shaped(given, options.antithetic ? options.population / 2 : options.population,
                               is_integer_rule(options.fitness)));
    YOLK_TRY_VOID(check_tail(given, parts.parameters.element_count()));
    if (!gradient.empty()) YOLK_TRY_VOID(check_gradient(gradient, parts.parameters.element_count()));
    YOLK_TRY(const GenerationSummary summary, update(given, gradient));
    remember(given);
    if (!gradient.empty()) forget_history();
    last_shaped = given;
    return summary;
}

Result<void> PoolEvolution::on_lead(const std::function<Result<void>()>& work) {
    while (true) {
        if (!pool->is_used(lead_index)) YOLK_TRY_VOID(make_lead());
        Result<void> done = work();
        if (done || !is_of_device(done.error())) return done;
        pool->drop(lead_index, done.error().message);
    }
}

/// A lead that fails is followed by the next device, which begins where the last generation ended.
Result<GenerationSummary> PoolEvolution::update(const ShapedGeneration& given, std::span<const float> gradient) {
    move_into_bounds(parts.bounds, state.parameters);  // as the lead does
    while (true) {
        if (!pool->is_used(lead_index) || is_led_too_slowly()) YOLK_TRY_VOID(make_lead());
        Result<GenerationSummary> summary = timed_update(given, gradient);
        if (summary) {
            if (history || team) std::swap(before, state);
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
    if (!has_own_update()) return lead->apply(given, gradient);
    std::vector<float> direction(gradient.begin(), gradient.end());
    if (direction.empty()) {
        YOLK_TRY(direction, parts.stages.update
                                ? call_update(parts.stages, given, now(), parts.parameters.element_count())
                                : lead->estimate(given));
    }
    if (!parts.stages.optimize) return lead->apply(given, direction);
    State next = state;
    std::ranges::copy(given.tail, next.parameters.end() - static_cast<std::ptrdiff_t>(given.tail.size()));
    YOLK_TRY_VOID(call_optimize(parts.stages, {.gradient = direction,
                                               .parameters = next.parameters,
                                               .state = next.optimizer,
                                               .learning_rate = Schedule(options, state.generation).learning_rate,
                                               .generation = state.generation}));
    return lead->adopt(given, next.parameters, next.optimizer);
}

Result<ShapedGeneration> PoolEvolution::shaped() const { return kept_weights(parts, last_shaped); }

Result<std::vector<float>> PoolEvolution::scores() const {
    if (!team) return mean_scores(returns, options.episodes);
    return bad_input("This is one of {} ranks, each of which has the scores of the members that it evaluated alone.",
                     team->ranks());
}

Result<void> PoolEvolution::set_parameters(std::span<const float> to) {
    YOLK_TRY_VOID(on_lead([&] { return lead->set_parameters(to); }));
    state.parameters.assign(to.begin(), to.end());
    forget_history();
    return {};
}

Result<void> PoolEvolution::set_elements(std::uint32_t first, std::span<const float> to) {
    YOLK_TRY_VOID(on_lead([&] { return lead->set_elements(first, to); }));
    std::ranges::copy(to, state.parameters.begin() + first);
    forget_history();
    return {};
}

}  // namespace yolk::evolve
