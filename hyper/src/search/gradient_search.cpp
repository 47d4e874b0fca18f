// SPDX-License-Identifier: Apache-2.0
// A search by derivatives, alone or beside EGGROLL. The centre stays on the device; each step's derivatives are taken
// at it, and where other groups are searched, their population is evaluated at the centre that the step has led to.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <utility>
#include <vector>

#include "descent.hpp"
#include "eggroll_steps.hpp"
#include "gradient_graph.hpp"
#include "host_view.hpp"
#include "yolk/evolve/evolution.hpp"

namespace yolk::hyper {
namespace {

/// The rows of those groups are neither perturbed nor updated by EGGROLL.
Result<ParameterTable> frozen_in(const ParameterTable& table, std::span<const std::string> groups) {
    std::vector<ParameterDesc> rows(table.parameters().begin(), table.parameters().end());
    for (ParameterDesc& row : rows) {
        if (names_one(groups, row.name)) row.perturbation = Perturbation::Frozen;
    }
    return ParameterTable::create(std::move(rows));
}

bool all_are_frozen(const ParameterTable& table) {
    return std::ranges::all_of(table.parameters(),
                               [](const ParameterDesc& row) { return row.perturbation == Perturbation::Frozen; });
}

Result<void> check_reward(double reward, std::uint32_t step) {
    if (std::isfinite(reward)) return {};
    return failed_work(
        "The reward that the derivatives of step {} were taken of is {}. Lower the learning rate of the gradient (or "
        "warm it up), or look for a division by zero, a logarithm or a root in the system.",
        step, reward);
}

class GradientSearch final : public Search {
   public:
    [[nodiscard]] std::string name() const override { return "derivatives"; }
    [[nodiscard]] std::uint64_t candidates_per_step(const OptimizeOptions& options) const override {
        return std::uint64_t{options.evolution.population} + 2;  // at most: with EGGROLL beside
    }
    [[nodiscard]] Result<void> run(Objective& objective) override;
};

/// All groups by derivatives.
class Alone {
   public:
    Alone(Objective& objective, Gradients& gradients) : objective_(objective), gradients_(gradients) {}

    Result<void> run() {
        const CentreState first = objective_.first_state();
        host_ = first.parameters;
        const Device& device = objective_.dispatcher().device();
        const std::uint64_t bytes = objective_.space().table.size_bytes();
        YOLK_TRY(parameters_, device.create_buffer({.size_bytes = bytes, .label = "parameters"}));
        YOLK_TRY_VOID(objective_.dispatcher().upload(parameters_, std::as_bytes(std::span(host_))));
        const GradientOptions& options = *objective_.options().gradient;
        YOLK_TRY(Descent descent, Descent::create(objective_.dispatcher(), options, parameters_, gradients_.gradient(),
                                                  first.optimizer));
        const Result<void> done = steps(descent, first.generation);
        const Result<void> settled = objective_.settle();
        return done ? settled : done;
    }

   private:
    [[nodiscard]] Perturbations centre(std::uint32_t step) const {
        return {.table = objective_.space().table,
                .centre = host_,
                .device_centre = parameters_,
                .when = {.seed = objective_.options().evolution.seed, .generation = step, .time = step},
                .rank = objective_.noise_rank(),
                .first_member = -1,
                .members = 1};
    }

    Result<void> steps(Descent& descent, std::uint32_t first) {
        const OptimizeOptions& options = objective_.options();
        for (std::uint32_t step = first; step < options.steps; ++step) {
            if (!objective_.affords(1)) return keep(descent, step);
            YOLK_TRY(const double reward, gradients_.evaluate(parameters_, host_, step));
            YOLK_TRY_VOID(check_reward(reward, step));
            YOLK_TRY_VOID(objective_.offer(centre(step), reward));
            const StepReport report{.step = step,
                                    .mean = reward,
                                    .best = reward,
                                    .centre = reward,
                                    .learning_rate = double{learning_rate_at(*options.gradient, step)}};
            if (!objective_.report(report, centre(step))) return keep(descent, step);
            YOLK_TRY_VOID(objective_.settle());  // the copy of the best reads what the step changes
            YOLK_TRY_VOID(descent.step(step));
            YOLK_TRY_VOID(gradients_.move_by_kfac(parameters_, step));
            if (!objective_.host_rows().empty()) YOLK_TRY_VOID(fetch());
            if (objective_.checkpoint_due(step + 1)) YOLK_TRY_VOID(keep(descent, step + 1));
        }
        YOLK_TRY_VOID(objective_.evaluate(centre(options.steps)));  // what the last step made competes as well
        return keep(descent, options.steps);
    }

    Result<void> fetch() {
        return objective_.dispatcher().download(parameters_, std::as_writable_bytes(std::span(host_)));
    }

    Result<void> keep(const Descent& descent, std::uint32_t steps) {
        if (objective_.options().checkpoint.empty()) return {};
        YOLK_TRY_VOID(objective_.settle());
        YOLK_TRY_VOID(fetch());
        CentreState state{.parameters = host_, .optimizer = {}, .generation = steps};
        YOLK_TRY(state.optimizer, descent.state());
        return objective_.save_checkpoint(state);
    }

    Objective& objective_;
    Gradients& gradients_;
    Buffer parameters_;
    std::vector<float> host_;
};

/// Some groups by derivatives, the others by EGGROLL.
class Beside {
   public:
    Beside(Objective& objective, Gradients& gradients, ParameterTable table)
        : objective_(objective), gradients_(gradients), table_(std::move(table)) {
        for (std::uint32_t id = 0; id < table_.parameters().size(); ++id) {
            const ParameterDesc& row = table_.parameters()[id];
            if (row.perturbation == Perturbation::Frozen)
                trained_.push_back({.first = table_.offset(ParameterId(id)), .count = row.rows * row.columns});
        }
    }

    Result<void> run() {
        const OptimizeOptions& options = objective_.options();
        const evolve::EvolutionOptions& evolution = options.evolution;
        CentreState first = objective_.first_state();
        const std::size_t own = std::size_t{optimizer_state_arrays(evolution.optimizer)} * table_.element_count();
        // The moments of both, EGGROLL's first.
        const auto cut = first.optimizer.begin() + static_cast<std::ptrdiff_t>(std::min(own, first.optimizer.size()));
        const std::vector<float> moments(cut, first.optimizer.end());
        first.optimizer.erase(cut, first.optimizer.end());
        YOLK_TRY(std::unique_ptr<evolve::HostScoresEvaluator> scores,
                 evolve::host_scores_evaluator(objective_.dispatcher().device(), evolution.population));
        returns_ = scores->returns();
        evolve::EvolutionParts parts{.parameters = table_,
                                     .initial = std::move(first.parameters),
                                     .evaluator = std::move(scores),
                                     .host_elements = elements_of(table_, objective_.host_rows()),
                                     .optimizer_state = std::move(first.optimizer),
                                     .generation = first.generation};
        YOLK_TRY(evolve::Evolution made,
                 evolve::Evolution::create(objective_.dispatcher().device(), objective_.dispatcher(), std::move(parts),
                                           evolution));
        YOLK_TRY(Descent descent, Descent::create(objective_.dispatcher(), *options.gradient, made.device_parameters(),
                                                  gradients_.gradient(), moments));
        const Result<void> done = steps(made, descent, evolution);
        const Result<void> settled = objective_.settle();
        return done ? settled : done;
    }

   private:
    Result<void> steps(evolve::Evolution& evolution, Descent& descent, const evolve::EvolutionOptions& options) {
        evolve::Schedule schedule(options, evolution.generations());
        HostView host(objective_, evolution);
        Perturbations candidates{.table = table_,
                                 .centre = host.centre(),
                                 .device_centre = evolution.device_parameters(),
                                 .rank = options.rank,
                                 .first_member = -1,
                                 .members = options.population + 1,
                                 .antithetic = options.antithetic};
        for (std::uint32_t step = evolution.generations(); step < objective_.options().steps; ++step) {
            if (!objective_.affords(std::uint64_t{1} + candidates.members)) return keep(host, descent);
            YOLK_TRY(const double reward, gradients_.evaluate(evolution.device_parameters(), host.centre(), step));
            YOLK_TRY_VOID(check_reward(reward, step));
            YOLK_TRY_VOID(objective_.settle());
            YOLK_TRY_VOID(descent.step(step));
            YOLK_TRY_VOID(gradients_.move_by_kfac(evolution.device_parameters(), step));
            YOLK_TRY_VOID(host.fetch(trained_));
            candidates.when = schedule.noise_time();
            YOLK_TRY(const std::vector<double> rewards, objective_.evaluate(candidates));
            if (rewards.empty()) return keep(host, descent);
            const std::span<const double> members = std::span(rewards).subspan(1);
            std::ranges::transform(members, returns_.begin(), [](double each) { return static_cast<float>(each); });
            if (!objective_.report(report_of(step, rewards.front(), sum_rewards(members), schedule), candidates))
                return keep(host, descent);
            YOLK_TRY_VOID(evolution.step());
            YOLK_TRY_VOID(host.follow());
            schedule.advance();
            if (objective_.checkpoint_due(step + 1)) YOLK_TRY_VOID(keep(host, descent));
        }
        candidates.when = schedule.noise_time();
        candidates.members = 1;
        YOLK_TRY_VOID(objective_.evaluate(candidates));
        return keep(host, descent);
    }

    Result<void> keep(const HostView& host, const Descent& descent) {
        if (objective_.options().checkpoint.empty()) return {};
        YOLK_TRY(CentreState state, host.state());
        YOLK_TRY(const std::vector<float> moments, descent.state());
        state.optimizer.insert(state.optimizer.end(), moments.begin(), moments.end());
        return objective_.save_checkpoint(state);
    }

    Objective& objective_;
    Gradients& gradients_;
    ParameterTable table_;
    std::vector<evolve::ElementRange> trained_;
    std::span<float> returns_;
};

Result<void> GradientSearch::run(Objective& objective) {
    const OptimizeOptions& options = objective.options();
    if (!options.gradient) return bad_input("A search by derivatives needs OptimizeOptions::gradient.");
    const bool is_pooled = objective.devices() != nullptr && objective.devices()->in_use() > 1;
    if (is_pooled || has_other_ranks(options)) {
        return bad_input(
            "Derivatives are taken on one device by one process; here are {}. Leave out the other {}, or the gradient.",
            is_pooled ? "several devices" : "several ranks", is_pooled ? "devices" : "ranks");
    }
    YOLK_TRY(const std::unique_ptr<Gradients> gradients, objective.gradients(options.gradient->groups));
    YOLK_TRY(ParameterTable table, frozen_in(objective.space().table, gradients->groups()));
    if (all_are_frozen(table)) return Alone(objective, *gradients).run();
    return Beside(objective, *gradients, std::move(table)).run();
}

}  // namespace

Result<std::unique_ptr<Gradients>> Objective::gradients(std::span<const std::string> /*groups*/) {
    return Error{ErrorKind::Unsupported, "This objective gives no derivatives."};
}

std::unique_ptr<Search> gradient_search() { return std::make_unique<GradientSearch>(); }

}  // namespace yolk::hyper
