// SPDX-License-Identifier: Apache-2.0
// EGGROLL over a system: the population is evaluated through the objective, everything after the scores is evolve's, on
// the device.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "yolk/core/log.hpp"
#include "yolk/evolve/evolution.hpp"
#include "yolk/evolve/schedule.hpp"
#include "yolk/hyper/optimize.hpp"
#include "yolk/runtime/probe.hpp"

namespace yolk::hyper {
namespace {

/// Exact wherever rule and device allow it; a device that does not is noted once.
Result<evolve::Determinism> determinism_of(const Device& device, FitnessRule rule) {
    if (!is_integer_rule(rule)) return evolve::Determinism::Fast;
    YOLK_TRY(const DeviceFindings findings, probe(device));
    if (findings.inexact_reason.empty()) return evolve::Determinism::Exact;
    log_info(fmt::format("{} optimizes with other bits than other devices would: {}", device.info().name,
                         findings.inexact_reason));
    return evolve::Determinism::Fast;
}

Result<evolve::EvolutionOptions> evolution_options(Objective& objective) {
    const OptimizeOptions& o = objective.options();
    evolve::EvolutionOptions options{.population = o.population,
                                     .antithetic = o.antithetic,
                                     .rank = objective.noise_rank(),
                                     .sigma = o.sigma,
                                     .learning_rate = o.learning_rate,
                                     .sigma_decay = o.sigma_decay,
                                     .learning_rate_decay = o.learning_rate_decay,
                                     .fitness = o.fitness,
                                     .robust = o.robust,
                                     .group_size = o.group_size,
                                     .optimizer = o.rule,
                                     .seed = o.seed};
    // Pairs are the default's way; without them the default is the one that it equals up to rounding.
    if (!o.antithetic && o.fitness == FitnessRule::PairDifference && !o.robust) options.fitness = FitnessRule::ZScore;
    YOLK_TRY(options.determinism, determinism_of(objective.dispatcher().device(), options.fitness));
    return options;
}

class Eggroll final : public Optimizer {
   public:
    [[nodiscard]] std::string name() const override { return "eggroll"; }
    /// The centre is evaluated with every population.
    [[nodiscard]] std::uint64_t candidates_per_step(const OptimizeOptions& options) const override {
        return std::uint64_t{options.population} + 1;
    }
    [[nodiscard]] Result<void> run(Objective& objective) override;
};

StepReport report_of(std::uint32_t step, std::span<const double> rewards, const evolve::Schedule& schedule) {
    StepReport report{.step = step,
                      .mean = 0.0,
                      .best = -std::numeric_limits<double>::infinity(),
                      .centre = rewards.front(),
                      .sigma = static_cast<double>(schedule.sigma),
                      .learning_rate = static_cast<double>(schedule.learning_rate)};
    std::size_t finite = 0;
    for (const double reward : rewards.subspan(1)) {
        if (!std::isfinite(reward)) continue;
        report.mean += reward;
        report.best = std::max(report.best, reward);
        ++finite;
    }
    report.mean = finite == 0 ? std::numeric_limits<double>::quiet_NaN() : report.mean / static_cast<double>(finite);
    return report;
}

Result<void> Eggroll::run(Objective& objective) {
    YOLK_TRY(const evolve::EvolutionOptions options, evolution_options(objective));
    YOLK_TRY_VOID(evolve::validate(options));
    const Device& device = objective.dispatcher().device();
    evolve::EvolutionParts parts{.parameters = objective.space().table, .initial = objective.space().centre};
    YOLK_TRY(std::unique_ptr<evolve::HostScoresEvaluator> scores,
             evolve::host_scores_evaluator(device, options.population));
    const std::span<float> returns = scores->returns();
    parts.evaluator = std::move(scores);
    YOLK_TRY(evolve::Evolution evolution,
             evolve::Evolution::create(device, objective.dispatcher(), std::move(parts), options));
    evolve::Schedule schedule(options);
    Perturbations candidates{.table = objective.space().table,
                             .centre = {},
                             .rank = options.rank,
                             .first_member = -1,
                             .members = options.population + 1,
                             .antithetic = options.antithetic};
    std::vector<float> centre;
    for (std::uint32_t step = 0; step < objective.options().steps; ++step) {
        centre.assign(evolution.parameters().begin(), evolution.parameters().end());
        candidates.centre = centre;
        candidates.when = schedule.noise_time();
        YOLK_TRY(const std::vector<double> rewards, objective.evaluate(candidates));
        if (rewards.empty()) return {};  // the budget; the best centre so far is kept
        std::ranges::transform(std::span(rewards).subspan(1), returns.begin(),
                               [](double reward) { return static_cast<float>(reward); });
        if (!objective.report(report_of(step, rewards, schedule), centre)) return {};
        YOLK_TRY_VOID(evolution.step());
        centre.assign(evolution.parameters().begin(), evolution.parameters().end());
        if (objective.clamp(centre)) YOLK_TRY_VOID(evolution.set_parameters(centre));
        schedule.advance();
    }
    // What the last step made competes as well.
    centre.assign(evolution.parameters().begin(), evolution.parameters().end());
    candidates.centre = centre;
    candidates.members = 1;
    YOLK_TRY_VOID(objective.evaluate(candidates));
    return {};
}

}  // namespace

std::unique_ptr<Optimizer> eggroll() { return std::make_unique<Eggroll>(); }

}  // namespace yolk::hyper
