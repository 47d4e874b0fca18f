// SPDX-License-Identifier: Apache-2.0
// How a pool's run comes to the weights of a generation: members are dealt to the workers, and their scores shaped.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <numeric>
#include <utility>

#include "pool_evolution.hpp"
#include "stage_calls.hpp"
#include "yolk/core/log.hpp"
#include "yolk/evolve/shaping.hpp"

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

}  // namespace

/// On a worker's thread, or the caller's for the judge: the state does not change meanwhile.
Result<std::vector<std::byte>> PoolEvolution::evaluate(MemberEvaluator& evaluator, const MemberRange& members,
                                                       std::uint64_t& count) const {
    std::vector<std::byte> result(std::size_t{members.count} * options.episodes * sizeof(float));
    const std::span values(reinterpret_cast<float*>(result.data()), result.size() / sizeof(float));
    YOLK_TRY(count, evaluator.evaluate(members, values));
    // Audits compare bits, and devices give other NaNs for the same scores.
    for (float& value : values) {
        if (std::isnan(value)) value = std::numeric_limits<float>::quiet_NaN();
    }
    return result;
}

Result<std::vector<std::byte>> PoolEvolution::score_on_worker(std::size_t worker, const MemberRange& members) {
    MemberEvaluator& evaluator = *evaluators[worker];
    if (begun[worker] != rounds) {
        YOLK_TRY_VOID(evaluator.begin(state.parameters, now()));
        begun[worker] = rounds;
    }
    std::uint64_t count = 0;
    YOLK_TRY(std::vector<std::byte> result, evaluate(evaluator, members, count));
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
    std::vector<std::byte> result(row_bytes * options.episodes);
    for (std::size_t episode = 0; episode < options.episodes; ++episode)
        std::memcpy(result.data() + episode * row_bytes, &returns[episode * options.population + members.first],
                    row_bytes);
    return result;
}

MemberRange PoolEvolution::mine() const {
    return team ? team->mine() : MemberRange{.first = 0, .count = options.population};
}

PooledWork PoolEvolution::work_of_round() {
    std::uint32_t largest = options.population;
    for (const auto& evaluator : evaluators) {
        if (evaluator) largest = std::min(largest, evaluator->most_members());
    }
    return {
        .members = mine(),
        .granularity = options.antithetic ? 2U : 1U,
        .largest_chunk = largest,
        .generation = state.generation,
        .evaluate = [this](std::size_t worker, const MemberRange& members) { return score_on_worker(worker, members); },
        .keep = [this](const MemberRange& members, std::span<const std::byte> result) { keep(members, result); },
        .kept = [this](const MemberRange& members) { return kept(members); }};
}

Result<void> PoolEvolution::score() {
    ++rounds;
    counted.clear();
    std::ranges::fill(evaluations, std::uint64_t{0});
    const bool was_lead_used = pool->is_used(lead_index);
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
    YOLK_TRY(last, pool->evaluate(work));
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

Result<RankTeam::Scored> PoolEvolution::score_together() {
    const auto scored_here = [&]() -> Result<RankTeam::Scored> {
        YOLK_TRY_VOID(score());
        return RankTeam::Scored{
            .evaluations = std::accumulate(evaluations.begin(), evaluations.end(), std::uint64_t{0}),
            .verified = members_verified(),
            .suspect_since = suspect_since(),
            .seconds = last.seconds};
    };
    return team ? team->after_scores(scored_here()) : scored_here();
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
