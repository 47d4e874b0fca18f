// SPDX-License-Identifier: Apache-2.0
// Rewards of candidates: made, counted, and, of a generation on one device, left there.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include "objective.hpp"
#include "yolk/log.hpp"

namespace yolk::hyper {

bool SystemObjective::affords(std::uint64_t candidates) {
    if (options_.metric_budget == 0) return true;
    const std::uint64_t left = options_.metric_budget - std::min(options_.metric_budget, outcome_.cost.metric_calls);
    const bool does = candidates <= left / options_.samples_per_example;
    out_of_budget_ = out_of_budget_ || !does;
    return does;
}

void SystemObjective::count_failures(const PopulationEvaluation& evaluation) {
    for (const double reward : evaluation.rewards) {
        if (std::isfinite(reward)) continue;
        ++failed_in_generation_;
        ++unshared_.failed;
    }
    name_failure(evaluation);
}

void SystemObjective::name_failure(const PopulationEvaluation& evaluation) {
    for (std::size_t i = 0; i < evaluation.rewards.size(); ++i) {
        if (std::isfinite(evaluation.rewards[i])) continue;
        const bool told = i < evaluation.errors.size() && evaluation.errors[i].has_value();
        return name_failure(told ? evaluation.errors[i]->message : "its reward is not finite.");
    }
}

void SystemObjective::name_failure(const std::string& why) {
    if (std::exchange(failure_named_, true)) return;
    log_warning(fmt::format(
        "A candidate has failed and counts as the worst: {} Later ones are counted without a notice.", why));
}

void SystemObjective::count_failed(std::uint32_t members) noexcept {
    failed_in_generation_ += members * options_.samples_per_example;
    unshared_.failed += members * options_.samples_per_example;
}

Result<std::vector<double>> SystemObjective::rewards_of(std::uint32_t count,
                                                        const std::function<Result<PopulationOutputs>()>& evaluate) {
    YOLK_TRY_VOID(draw_generation(outcome_.generations));
    std::vector<double> sums(count, 0.0);
    for (std::uint32_t sample = 0; sample < options_.samples_per_example; ++sample) {
        YOLK_TRY(PopulationOutputs outputs, evaluate());
        count_costs(
            {.metric_calls = count, .host_calls = outputs.counts.host_calls, .dispatches = outputs.counts.dispatches});
        count_shares(outputs.pooled);
        YOLK_TRY(const PopulationEvaluation evaluation,
                 score_population(std::move(outputs), training_.expected, *metric_));
        count_failures(evaluation);
        for (std::uint32_t i = 0; i < count; ++i) sums[i] += evaluation.rewards[i];
    }
    for (double& sum : sums)
        sum = std::isfinite(sum) ? sum / options_.samples_per_example : std::numeric_limits<double>::quiet_NaN();
    return sums;
}

Result<std::vector<double>> SystemObjective::rewards_at(const Perturbations& candidates) {
    return rewards_of(candidates.members, [&] { return training_.evaluator->evaluate(candidates); });
}

Result<std::vector<double>> SystemObjective::evaluate(const Perturbations& candidates) {
    if (!affords(candidates.members)) return std::vector<double>();
    const auto part_of = [&](const evolve::MemberRange& part) {
        Perturbations mine = candidates;
        mine.first_member += static_cast<std::int32_t>(part.first);
        mine.members = part.count;
        return rewards_at(mine);
    };
    YOLK_TRY(std::vector<double> rewards, from_all_ranks(candidates.members, part_of));
    if (!rewards.empty() && candidates.first_member == -1) YOLK_TRY_VOID(compete(candidates, rewards.front()));
    return rewards;
}

Result<std::optional<double>> SystemObjective::score(const Perturbations& candidates, GenerationScores& scores) {
    YOLK_TRY_VOID(draw_generation(outcome_.generations));
    if (!training_.evaluator->means_stay()) {
        YOLK_TRY(const std::vector<double> rewards, evaluate(candidates));
        if (rewards.empty()) return std::optional<double>();
        std::ranges::transform(std::span(rewards).subspan(1), scores.on_host().begin(),
                               [](double reward) { return static_cast<float>(reward); });
        return std::optional(rewards.front());
    }
    if (!affords(candidates.members)) return std::optional<double>();
    const BufferView members = scores.on_device().part(0, sizeof(float) * std::uint64_t{candidates.members - 1});
    double unperturbed = 0.0;
    for (std::uint32_t sample = 0; sample < options_.samples_per_example; ++sample) {
        YOLK_TRY(const PopulationOutputs outputs, training_.evaluator->evaluate_into(candidates, members));
        count_costs({.metric_calls = candidates.members, .dispatches = outputs.counts.dispatches});
        unperturbed = double{outputs.means.front()};
    }
    if (!std::isfinite(unperturbed)) {
        count_failed(1);
        name_failure("its reward is not finite.");
    }
    YOLK_TRY_VOID(compete(candidates, unperturbed));
    return std::optional(unperturbed);
}

Result<std::vector<Candidate>> SystemObjective::candidates_at(std::span<const float> points,
                                                              std::uint32_t count) const {
    const std::size_t elements = space_.table.element_count();
    if (points.size() != elements * count) {
        return bad_input("There are {} coordinates for {} points of {} each.", points.size(), count, elements);
    }
    std::vector<Candidate> candidates(count);
    for (std::uint32_t i = 0; i < count; ++i) {
        ParameterSet at = set_;
        YOLK_TRY_VOID(apply_coordinates(at, points.subspan(elements * i, elements)));
        for (const ParameterGroup& group : at.groups()) {
            if (group.spec.optimize) candidates[i].values.emplace_back(group.spec.name, group.values);
        }
    }
    return candidates;
}

Result<std::vector<double>> SystemObjective::evaluate(std::span<const float> points, std::uint32_t count) {
    const std::size_t elements = space_.table.element_count();
    std::vector<float> clamped(points.begin(), points.end());
    for (std::uint32_t i = 0; i < count && clamped.size() == elements * count; ++i)
        move_into_bounds(bounds_, std::span(clamped).subspan(elements * i, elements));
    YOLK_TRY(const std::vector<Candidate> candidates, candidates_at(clamped, count));
    if (!affords(count)) return std::vector<double>();
    YOLK_TRY(const std::vector<double> rewards, from_all_ranks(count, [&](const evolve::MemberRange& part) {
                 const std::span<const Candidate> mine = std::span(candidates).subspan(part.first, part.count);
                 return rewards_of(part.count, [&] { return training_.evaluator->evaluate(mine); });
             }));
    if (draws()) {
        YOLK_TRY_VOID(compete_drawn(clamped, rewards));
        return rewards;
    }
    for (std::size_t i = 0; i < rewards.size(); ++i)
        compete(std::span(clamped).subspan(elements * i, elements), rewards[i]);
    return rewards;
}

}  // namespace yolk::hyper
