// SPDX-License-Identifier: Apache-2.0
// EGGROLL over a system, as a run of evolve.
#include <algorithm>
#include <optional>
#include <utility>
#include <vector>

#include "generations.hpp"
#include "house_searches.hpp"
#include "yolk/evolution.hpp"

namespace yolk::hyper {

namespace {

/// Of the generation that a generation made; `unperturbed` is the reward of the mean that it was made around.
GenerationReport report_of(const evolve::GenerationSummary& summary, double unperturbed) {
    return {.generation = summary.generation,
            .mean = double{summary.mean},
            .best = double{summary.best},
            .unperturbed = unperturbed,
            .sigma = double{summary.sigma},
            .learning_rate = double{summary.learning_rate}};
}

}  // namespace

Result<void> Generations::begin(evolve::EvolutionState first) {
    options_ = objective_->options().evolution;
    options_.rank = objective_->noise_rank();
    const Device& device = objective_->dispatcher().device();
    evolve::EvolutionParts parts{.parameters = table_,
                                 .initial = std::move(first.parameters),
                                 .host_elements = elements_of(table_, objective_->host_rows()),
                                 .bounds = {objective_->bounds().begin(), objective_->bounds().end()},
                                 .digest = objective_->keeps_log(),
                                 .keep_weights = objective_->keeps_log(),
                                 .optimizer_state = std::move(first.optimizer),
                                 .generation = first.generation,
                                 .changing_examples = objective_->options().examples_per_generation > 0};
    YOLK_TRY(std::unique_ptr<GenerationScores> scores, GenerationScores::create(device, options_.population));
    scores_ = scores.get();
    parts.evaluator = std::move(scores);
    YOLK_TRY(evolution_, evolve::Evolution::create(device, objective_->dispatcher(), std::move(parts), options_));
    schedule_ = evolve::Schedule(options_, evolution_->generations());
    host_.emplace(*objective_, *evolution_);
    return {};
}

Perturbations Generations::candidates() const {
    return {.table = table_,
            .mean = host_->mean(),
            .device_mean = evolution_->device_parameters(),
            .when = schedule_.noise_time(),
            .rank = options_.rank,
            .first_member = -1,
            .members = is_over() ? 1 : options_.population + 1,
            .antithetic = options_.antithetic};
}

Result<std::optional<GenerationReport>> Generations::make(const Perturbations& candidates) {
    YOLK_TRY(const std::optional<double> mean, objective_->score(candidates, *scores_));
    if (!mean || is_over()) return std::optional<GenerationReport>();
    YOLK_TRY_VOID(objective_->look_at_held_out(candidates));  // at the mean that is there until the update
    YOLK_TRY(const evolve::GenerationSummary summary, evolution_->step());
    if (scores_->are_on_device()) objective_->count_failed(summary.not_finite);
    if (!summary.has_finite || summary.skipped_elements > 0)
        objective_->skipped(summary.has_finite ? 0 : 1, summary.skipped_elements);
    host_->follow();
    schedule_.advance();
    YOLK_TRY_VOID(objective_->log_generation(*evolution_));
    return std::optional(report_of(summary, *mean));
}

namespace {

/// A run of evolve whose members the objective scores.
class DealtRun {
   public:
    explicit DealtRun(SystemObjective& objective) : objective_(&objective) {}

    [[nodiscard]] Result<void> run() {
        YOLK_TRY_VOID(begin());
        const OptimizeOptions& options = objective_->options();
        bool goes_on = true;
        while (goes_on) {
            const bool is_over = evolution_->generations() >= options.generations;
            if (!is_over && !objective_->affords(std::uint64_t{1} + options.evolution.population)) break;
            YOLK_TRY(goes_on, is_over ? end() : step());
            if (goes_on && objective_->checkpoint_due(evolution_->generations())) YOLK_TRY_VOID(keep_state());
        }
        YOLK_TRY_VOID(keep_state());
        return objective_->end_run();
    }

   private:
    [[nodiscard]] Result<void> begin();
    /// Whether the search goes on.
    [[nodiscard]] Result<bool> step();
    /// What the last generation made competes as well. Whether the search goes on, because an audit took it back.
    [[nodiscard]] Result<bool> end();
    /// Failed members, and the mean that the last evaluation was around.
    [[nodiscard]] Result<void> take(std::uint32_t generation, std::uint32_t failed) {
        if (objective_->all_devices().pool() != nullptr) objective_->add_shares(evolution_->shares());
        return objective_->take(generation, failed, *evolution_);
    }
    [[nodiscard]] Result<void> keep_state();

    SystemObjective* objective_;
    std::optional<evolve::Evolution> evolution_{};
    evolve::Traffic traffic_{};
};

Result<void> DealtRun::begin() {
    evolve::EvolutionOptions options = objective_->options().evolution;
    options.rank = objective_->noise_rank();
    const evolve::Devices devices = objective_->all_devices();
    if (devices.exchange() != nullptr) traffic_ = devices.exchange()->traffic();
    YOLK_TRY(evolution_, evolve::Evolution::create(devices, objective_->run_parts(), options));
    return {};
}

Result<bool> DealtRun::step() {
    const std::uint32_t expected = evolution_->generations();
    YOLK_TRY(const evolve::GenerationSummary summary, evolution_->step());
    if (summary.generation < expected) YOLK_TRY_VOID(objective_->go_back(summary.generation));
    YOLK_TRY_VOID(take(summary.generation, summary.not_finite));
    YOLK_TRY_VOID(objective_->log_generation(*evolution_));
    if (!summary.has_finite || summary.skipped_elements > 0)
        objective_->skipped(summary.has_finite ? 0 : 1, summary.skipped_elements);
    const evolve::MeanScores mean = evolution_->mean();
    GenerationReport report = report_of(summary, mean.scores[0]);
    if (const evolve::Devices devices = objective_->all_devices(); devices.has_other_ranks()) {
        report.ranks.assign(evolution_->rank_shares().begin(), evolution_->rank_shares().end());
        const evolve::Traffic now = devices.exchange()->traffic();
        report.traffic = now - std::exchange(traffic_, now);
    }
    return objective_->report(report, mean.parameters);
}

Result<bool> DealtRun::end() {
    objective_->expect_mean_alone(true);
    YOLK_TRY(const bool stands, evolution_->score_mean());
    objective_->expect_mean_alone(false);
    if (!stands) {
        YOLK_TRY_VOID(objective_->go_back(evolution_->generations()));
        return true;
    }
    YOLK_TRY_VOID(take(evolution_->generations(), 0));
    return false;
}

Result<void> DealtRun::keep_state() {
    if (objective_->options().checkpoint.empty()) return {};
    const std::span<const float> parameters = evolution_->parameters();
    const std::span<const float> optimizer = evolution_->optimizer_state();
    return objective_->save_checkpoint({.parameters = {parameters.begin(), parameters.end()},
                                        .optimizer = {optimizer.begin(), optimizer.end()},
                                        .generation = evolution_->generations()});
}

class Eggroll final : public Search {
   public:
    explicit Eggroll(SystemObjective& objective) : objective_(&objective) {}
    [[nodiscard]] std::string name() const override { return "eggroll"; }
    /// The mean is evaluated with every population.
    [[nodiscard]] std::uint64_t candidates_per_generation(const OptimizeOptions& options) const override {
        return std::uint64_t{options.evolution.population} + 1;
    }
    [[nodiscard]] Result<void> run(Objective& /*the same*/) override {
        if (objective_->is_dealt_out()) return DealtRun(*objective_).run();
        Generations generations(*objective_, objective_->space().table);
        YOLK_TRY_VOID(generations.begin(objective_->first_state()));
        return run_generations(*objective_, generations);
    }

   private:
    SystemObjective* objective_;
};

}  // namespace

std::unique_ptr<Search> eggroll(SystemObjective& objective) { return std::make_unique<Eggroll>(objective); }

}  // namespace yolk::hyper
