// SPDX-License-Identifier: Apache-2.0
// How a pool's run comes to the weights of a generation: members are dealt to the workers, and their scores shaped.
#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <limits>
#include <numeric>
#include <utility>

#include "member_sums.hpp"
#include "pool_evolution.hpp"
#include "stage_calls.hpp"
#include "yolk/internal/evolve/shaping.hpp"
#include "yolk/log.hpp"

namespace yolk::evolve {
namespace {

FitnessDesc fitness_of(const EvolutionOptions& options) {
    return {.population = options.population,
            .episodes = options.episodes,
            .rule = options.fitness,
            .robust = options.robust,
            .group_size = options.group_size,
            .antithetic = options.antithetic,
            .config = {}};
}

template <class T>
T with_one_nan(T value) {
    return std::isnan(value) ? std::numeric_limits<T>::quiet_NaN() : value;
}

/// The smallest chunk of evaluators that plan for each number of members is at most this share of them.
constexpr std::uint32_t kFinestShare = 64;

}  // namespace

/// On a worker's thread, or the caller's for the judge: the state does not change meanwhile. Returns, the mean's
/// scores, then what members counted.
Result<std::vector<std::byte>> PoolEvolution::evaluate(MemberEvaluator& evaluator, const MemberRange& members,
                                                       std::uint64_t& count) const {
    const std::size_t return_bytes = std::size_t{members.count} * options.episodes * sizeof(float);
    const std::size_t scores_bytes = return_bytes + (has_mean(members) ? mean_bytes() : 0);
    std::vector<std::byte> result(scores_bytes + counts_bytes(members));
    const std::span values(reinterpret_cast<float*>(result.data()), return_bytes / sizeof(float));
    if (has_mean(members)) {
        std::array<double, kMostMeanScores> of_mean{};
        YOLK_TRY(count, evaluator.evaluate_with_mean(members, values, std::span(of_mean).first(parts.mean_scores)));
        std::ranges::transform(of_mean, of_mean.begin(), with_one_nan<double>);
        std::memcpy(result.data() + return_bytes, of_mean.data(), mean_bytes());
    } else {
        YOLK_TRY(count, evaluator.evaluate(members, values));
    }
    std::ranges::transform(values, values.begin(), with_one_nan<float>);
    if (members.count > 0) {
        YOLK_TRY(const std::span<const std::uint32_t> own, counted_by(evaluator, members, parts.counts.words));
        std::ranges::copy(std::as_bytes(own), result.begin() + static_cast<std::ptrdiff_t>(scores_bytes));
    }
    return result;
}

Result<std::vector<std::byte>> PoolEvolution::evaluate_mean(MemberEvaluator& evaluator) const {
    std::uint64_t count = 0;
    return evaluate(evaluator, {.first = 0, .count = 0}, count);
}

/// This worker's evaluator, which knows of this round.
Result<MemberEvaluator*> PoolEvolution::ready(std::size_t worker) {
    MemberEvaluator& evaluator = *evaluators[worker];
    if (begun[worker] != rounds) {
        YOLK_TRY_VOID(evaluator.begin(state.parameters, now()));
        begun[worker] = rounds;
    }
    return &evaluator;
}

Result<std::vector<std::byte>> PoolEvolution::score_on_worker(std::size_t worker, const MemberRange& members) {
    YOLK_TRY(MemberEvaluator* const evaluator, ready(worker));
    std::uint64_t count = 0;
    YOLK_TRY(std::vector<std::byte> result, evaluate(*evaluator, members, count));
    const std::lock_guard lock(counting);
    counted.push_back({.members = members, .evaluations = count});
    return result;
}

/// Members that are kept again, in other chunks perhaps, because a worker was wrong, count as the last time.
void PoolEvolution::keep(const MemberRange& members, std::span<const std::byte> result) {
    const std::size_t row_bytes = sizeof(float) * members.count;
    for (std::size_t episode = 0; episode < options.episodes; ++episode)
        std::memcpy(&returns[episode * options.population + members.first], result.data() + episode * row_bytes,
                    row_bytes);
    if (has_mean(members))
        std::memcpy(scores_of_mean.data(), result.data() + row_bytes * options.episodes, mean_bytes());
    std::ranges::copy(result.last(counts_bytes(members)), counts_of(members).begin());
    std::fill_n(evaluations.begin() + members.first, members.count, std::uint64_t{0});
    const std::lock_guard lock(counting);
    const auto last_one =
        std::find_if(counted.rbegin(), counted.rend(), [&](const Counted& each) { return each.members == members; });
    if (last_one == counted.rend()) return;
    evaluations[members.first] = last_one->evaluations;
    counted.erase(std::next(last_one).base());
}

std::vector<std::byte> PoolEvolution::kept(const MemberRange& members) const {
    const std::size_t row_bytes = sizeof(float) * members.count;
    std::vector<std::byte> result(row_bytes * options.episodes + (has_mean(members) ? mean_bytes() : 0));
    for (std::size_t episode = 0; episode < options.episodes; ++episode)
        std::memcpy(result.data() + episode * row_bytes, &returns[episode * options.population + members.first],
                    row_bytes);
    if (has_mean(members))
        std::memcpy(result.data() + row_bytes * options.episodes, scores_of_mean.data(), mean_bytes());
    const std::span<const std::byte> own = counts_of(members);
    result.insert(result.end(), own.begin(), own.end());
    return result;
}

namespace {
std::uint32_t whole_units(std::uint32_t members, std::uint32_t unit) { return (members + unit - 1) / unit * unit; }
}  // namespace

MemberRange PoolEvolution::mine() const {
    return team ? team->mine() : MemberRange{.first = 0, .count = options.population};
}

PooledWork PoolEvolution::work_of_round() {
    std::uint32_t largest = options.population;
    for (const auto& evaluator : evaluators) {
        if (evaluator) largest = std::min(largest, evaluator->most_members());
    }
    const std::uint32_t unit = options.antithetic ? 2U : 1U;
    const std::uint32_t coarse = std::min(std::bit_floor(largest), std::bit_floor(mine().count / kFinestShare));
    return {
        .members = mine(),
        .granularity = std::max(parts.few_sizes ? std::max(unit, coarse) : unit, whole_units(parts.chunk, unit)),
        .largest_chunk = largest,
        .generation = state.generation,
        .evaluate = [this](std::size_t worker, const MemberRange& members) { return score_on_worker(worker, members); },
        .keep = [this](const MemberRange& members, std::span<const std::byte> result) { keep(members, result); },
        .kept = [this](const MemberRange& members) { return kept(members); }};
}

Result<void> PoolEvolution::begin_round() {
    ++rounds;
    counted.clear();
    std::ranges::fill(evaluations, std::uint64_t{0});
    move_into_bounds(parts.bounds, state.parameters);  // as the update does
    if (parts.mean_scores > 0) mean_parameters = state.parameters;
    return parts.begin ? parts.begin(state.parameters, now()) : Result<void>();
}

Result<void> PoolEvolution::score() {
    YOLK_TRY_VOID(begin_round());
    bool has_disagreed = !parts.judge;  // unknown then
    PooledWork work = work_of_round();
    if (parts.judge) {
        work.judge = [&](const MemberRange& members) -> Result<std::vector<std::byte>> {
            has_disagreed = true;
            YOLK_TRY_VOID(parts.judge->begin(state.parameters, now()));
            std::uint64_t count = 0;
            return evaluate(*parts.judge, members, count);
        };
    }
    const bool was_lead_used = pool->is_used(lead_index);
    YOLK_TRY(last, pool->evaluate(work));
    watch_lead();
    was_lead_distrusted = has_disagreed && was_lead_used && !pool->is_used(lead_index);
    if (last.unaudited > 0 && !std::exchange(has_told_unaudited, true)) {
        log_warning(
            fmt::format("In generation {} {} members were drawn for an audit, and no second device is left to "
                        "make it. Later ones go unaudited without a notice.",
                        state.generation, last.unaudited));
    }
    return {};
}

/// A worker that neither another one nor the judge can audit will not be found wrong.
std::uint32_t PoolEvolution::members_verified() const {
    return history && (pool->in_use() > 1 || parts.judge) ? pool->verified() : state.generation;
}

/// A lead whose scores are wrong has made updates, too. Other ranks have compared theirs with them.
std::uint32_t PoolEvolution::suspect_since() const {
    const std::uint32_t scores = last.suspect_since.value_or(kNothingSuspect);
    const bool are_updates_suspect = history && !team && was_lead_distrusted && lead_verified < state.generation;
    return are_updates_suspect ? std::min(scores, lead_verified) : scores;
}

Result<RankTeam::Scored> PoolEvolution::told(const Result<void>& scored) const {
    if (!scored) return scored.error();
    return RankTeam::Scored{.evaluations = std::accumulate(evaluations.begin(), evaluations.end(), std::uint64_t{0}),
                            .verified = members_verified(),
                            .suspect_since = suspect_since(),
                            .seconds = last.seconds,
                            .mean = scores_of_mean};
}

Result<RankTeam::Scored> PoolEvolution::score_together() {
    Result<RankTeam::Scored> scored = told(score());
    if (team) scored = team->after_scores(scored);
    if (scored) scores_of_mean = scored->mean;
    return scored;
}

/// By any worker, audited as members are.
Result<void> PoolEvolution::score_mean_here() {
    YOLK_TRY_VOID(begin_round());
    if (!has_mean(mine())) {
        last = {};
        return {};
    }
    PooledWork work = work_of_round();
    work.members = {.first = 0, .count = 1};
    work.granularity = 1;
    work.evaluate = [this](std::size_t worker, const MemberRange& /*one*/) -> Result<std::vector<std::byte>> {
        YOLK_TRY(MemberEvaluator* const evaluator, ready(worker));
        return evaluate_mean(*evaluator);
    };
    work.keep = [this](const MemberRange& /*one*/, std::span<const std::byte> result) {
        std::memcpy(scores_of_mean.data(), result.data(), mean_bytes());
    };
    work.kept = [this](const MemberRange& /*one*/) { return kept({.first = 0, .count = 0}); };
    if (parts.judge) {
        work.judge = [this](const MemberRange& /*one*/) -> Result<std::vector<std::byte>> {
            YOLK_TRY_VOID(parts.judge->begin(state.parameters, now()));
            return evaluate_mean(*parts.judge);
        };
    }
    const bool was_lead_used = pool->is_used(lead_index);
    YOLK_TRY(last, pool->evaluate(work));
    was_lead_distrusted = last.suspect_since && was_lead_used && !pool->is_used(lead_index);
    return {};
}

Result<bool> PoolEvolution::score_mean() {
    if (parts.mean_scores == 0) return EvolutionEngine::score_mean();
    Result<RankTeam::Scored> scored = told(score_mean_here());
    if (team) scored = team->after_scores(scored, false);
    YOLK_TRY(const RankTeam::Scored all, std::move(scored));
    scores_of_mean = all.mean;
    verified = all.verified;
    if (all.suspect_since == kNothingSuspect) return true;
    YOLK_TRY_VOID(go_back_together(all.suspect_since));
    return false;
}

MeanScores PoolEvolution::mean() const noexcept {
    return {.parameters = mean_parameters, .scores = std::span(scores_of_mean).first(parts.mean_scores)};
}

Result<std::vector<float>> PoolEvolution::follow_counts(const MemberRange& members) {
    std::vector<std::uint64_t> sums(parts.counts.words);
    if (sums.empty()) return std::vector<float>();
    const std::size_t first = std::size_t{members.first} * parts.counts.words;
    add_counts(std::span(counts).subspan(first, std::size_t{members.count} * parts.counts.words), sums);
    if (team) YOLK_TRY_VOID(team->add(sums));
    return tail_after(parts.counts, state.parameters, sums);
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

}  // namespace yolk::evolve
