// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>
#include <vector>

#include "eggroll_steps.hpp"
#include "generations.hpp"
#include "yolk/hyper/optimize.hpp"

namespace yolk::hyper {

RewardSums sum_rewards(std::span<const double> rewards) {
    RewardSums sums;
    for (const double reward : rewards) {
        if (!std::isfinite(reward)) continue;
        sums.sum += reward;
        sums.best = std::max(sums.best, reward);
        ++sums.finite;
    }
    return sums;
}

StepReport report_of(std::uint32_t step, double centre, const RewardSums& members, const evolve::Schedule& schedule) {
    return {.step = step,
            .mean = members.finite == 0 ? std::numeric_limits<double>::quiet_NaN()
                                        : members.sum / static_cast<double>(members.finite),
            .best = members.finite == 0 ? std::numeric_limits<double>::quiet_NaN() : members.best,
            .centre = centre,
            .sigma = static_cast<double>(schedule.sigma),
            .learning_rate = static_cast<double>(schedule.learning_rate)};
}

Result<void> Generations::begin(CentreState first) {
    options_ = objective_->options().evolution;
    options_.rank = objective_->noise_rank();
    const Device& device = objective_->dispatcher().device();
    evolve::EvolutionParts parts{.parameters = table_,
                                 .initial = std::move(first.parameters),
                                 .host_elements = elements_of(table_, objective_->host_rows()),
                                 .optimizer_state = std::move(first.optimizer),
                                 .generation = first.generation,
                                 .changing_examples = objective_->options().examples_per_step > 0};
    YOLK_TRY(std::unique_ptr<evolve::HostScoresEvaluator> scores,
             evolve::host_scores_evaluator(device, options_.population));
    returns_ = scores->returns();
    parts.evaluator = std::move(scores);
    YOLK_TRY(evolution_, evolve::Evolution::create(device, objective_->dispatcher(), std::move(parts), options_));
    schedule_ = evolve::Schedule(options_, evolution_->generations());
    host_.emplace(*objective_, *evolution_);
    return {};
}

Perturbations Generations::candidates() const {
    return {.table = table_,
            .centre = host_->centre(),
            .device_centre = evolution_->device_parameters(),
            .when = schedule_.noise_time(),
            .rank = options_.rank,
            .first_member = -1,
            .members = is_over() ? 1 : options_.population + 1,
            .antithetic = options_.antithetic};
}

Result<std::optional<StepReport>> Generations::evaluate(const Perturbations& candidates) {
    YOLK_TRY(const std::vector<double> rewards, objective_->evaluate(candidates));
    if (rewards.empty() || is_over()) return std::optional<StepReport>();
    const std::span<const double> members = std::span(rewards).subspan(1);
    std::ranges::transform(members, returns_.begin(), [](double reward) { return static_cast<float>(reward); });
    return std::optional(report_of(done(), rewards.front(), sum_rewards(members), schedule_));
}

Result<bool> Generations::update() {
    YOLK_TRY(const evolve::GenerationSummary summary, evolution_->step());
    if (!summary.has_finite || summary.skipped_elements > 0)
        objective_->skipped(summary.has_finite ? 0 : 1, summary.skipped_elements);
    YOLK_TRY_VOID(host_->follow());
    schedule_.advance();
    return true;
}

namespace {

class Eggroll final : public Search {
   public:
    [[nodiscard]] std::string name() const override { return "eggroll"; }
    /// The centre is evaluated with every population.
    [[nodiscard]] std::uint64_t candidates_per_step(const OptimizeOptions& options) const override {
        return std::uint64_t{options.evolution.population} + 1;
    }
    [[nodiscard]] Result<void> run(Objective& objective) override {
        if (objective.devices() != nullptr || has_other_ranks(objective.options()))
            return search_over_devices(objective);
        Generations generations(objective, objective.space().table);
        YOLK_TRY_VOID(generations.begin(objective.first_state()));
        return run_steps(objective, generations);
    }
};

}  // namespace

std::unique_ptr<Search> eggroll() { return std::make_unique<Eggroll>(); }

}  // namespace yolk::hyper
