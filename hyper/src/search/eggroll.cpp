// SPDX-License-Identifier: Apache-2.0
// EGGROLL over a system: the population is evaluated through the objective, everything after the scores is evolve's, on
// the device. So is the centre: it is made there, perturbed there, and kept there where it is the best so far.
#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "eggroll_steps.hpp"
#include "host_view.hpp"
#include "yolk/evolve/evolution.hpp"
#include "yolk/evolve/schedule.hpp"
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
            .best = members.best,
            .centre = centre,
            .sigma = static_cast<double>(schedule.sigma),
            .learning_rate = static_cast<double>(schedule.learning_rate)};
}

namespace {

class Eggroll final : public Search {
   public:
    [[nodiscard]] std::string name() const override { return "eggroll"; }
    /// The centre is evaluated with every population.
    [[nodiscard]] std::uint64_t candidates_per_step(const OptimizeOptions& options) const override {
        return std::uint64_t{options.evolution.population} + 1;
    }
    [[nodiscard]] Result<void> run(Objective& objective) override;
};

Result<void> keep_checkpoint(Objective& objective, const HostView& host) {
    YOLK_TRY(const CentreState state, host.state());
    return objective.save_checkpoint(state);
}

Result<void> search_steps(Objective& objective, evolve::Evolution& evolution, std::span<float> returns,
                          const evolve::EvolutionOptions& options) {
    const bool keeps = !objective.options().checkpoint.empty();
    evolve::Schedule schedule(options, evolution.generations());
    HostView host(objective, evolution);
    Perturbations candidates{.table = evolution.table(),
                             .centre = host.centre(),
                             .device_centre = evolution.device_parameters(),
                             .rank = options.rank,
                             .first_member = -1,
                             .members = options.population + 1,
                             .antithetic = options.antithetic};
    for (std::uint32_t step = evolution.generations(); step < objective.options().steps; ++step) {
        candidates.when = schedule.noise_time();
        YOLK_TRY(const std::vector<double> rewards, objective.evaluate(candidates));
        // The budget, or the caller: the best centre so far is kept.
        if (rewards.empty()) return keeps ? keep_checkpoint(objective, host) : Result<void>();
        const std::span<const double> members = std::span(rewards).subspan(1);
        std::ranges::transform(members, returns.begin(), [](double reward) { return static_cast<float>(reward); });
        if (!objective.report(report_of(step, rewards.front(), sum_rewards(members), schedule), candidates))
            return keeps ? keep_checkpoint(objective, host) : Result<void>();
        YOLK_TRY_VOID(evolution.step());
        YOLK_TRY_VOID(host.follow());
        schedule.advance();
        if (objective.checkpoint_due(step + 1)) YOLK_TRY_VOID(keep_checkpoint(objective, host));
    }
    // What the last step made competes as well.
    candidates.when = schedule.noise_time();
    candidates.members = 1;
    YOLK_TRY_VOID(objective.evaluate(candidates));
    return keeps ? keep_checkpoint(objective, host) : Result<void>();
}

Result<void> Eggroll::run(Objective& objective) {
    const evolve::EvolutionOptions& options = objective.options().evolution;
    if (objective.devices() != nullptr || has_other_ranks(objective.options()))
        return search_over_devices(objective, options);
    const Device& device = objective.dispatcher().device();
    const ParameterTable& table = objective.space().table;
    CentreState first = objective.first_state();
    evolve::EvolutionParts parts{.parameters = table,
                                 .initial = std::move(first.parameters),
                                 .host_elements = elements_of(table, objective.host_rows()),
                                 .optimizer_state = std::move(first.optimizer),
                                 .generation = first.generation};
    YOLK_TRY(std::unique_ptr<evolve::HostScoresEvaluator> scores,
             evolve::host_scores_evaluator(device, options.population));
    const std::span<float> returns = scores->returns();
    parts.evaluator = std::move(scores);
    YOLK_TRY(evolve::Evolution evolution,
             evolve::Evolution::create(device, objective.dispatcher(), std::move(parts), options));
    const Result<void> done = search_steps(objective, evolution, returns, options);
    const Result<void> settled = objective.settle();  // whatever came of it: the evolution's buffers go now
    return done ? settled : done;
}

}  // namespace

std::unique_ptr<Search> eggroll() { return std::make_unique<Eggroll>(); }

}  // namespace yolk::hyper
