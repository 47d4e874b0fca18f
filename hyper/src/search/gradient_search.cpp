// SPDX-License-Identifier: Apache-2.0
// A search by derivatives, alone or beside EGGROLL. The mean stays on the device; each step's derivatives are taken
// at it, and where other groups are searched, their population is evaluated at the mean that the step has led to.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <optional>
#include <utility>
#include <vector>

#include "descent.hpp"
#include "generations.hpp"
#include "gradient_graph.hpp"
#include "house_searches.hpp"
#include "yolk/log.hpp"

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

/// Rewards that are not finite. On examples that are drawn anew for each step, a step is left out, but not very many in
/// a row; on the same ones the next step would find the same.
class RewardWatch {
   public:
    /// Whether the step is to be made.
    Result<bool> take(SystemObjective& objective, double reward, std::uint32_t step) {
        if (std::isfinite(reward)) {
            in_a_row_ = 0;
            return true;
        }
        if (objective.options().examples_per_generation > 0 && ++in_a_row_ < evolve::NotFiniteWatch::kMostInARow) {
            objective.skipped(1, 0);
            if (!std::exchange(named_, true)) {
                log_warning(
                    fmt::format("The reward of step {} is {}, so its derivatives are left out; {} in a row end the "
                                "search. Later ones are counted without a notice.",
                                step, reward, evolve::NotFiniteWatch::kMostInARow));
            }
            return false;
        }
        return failed_work(
            "The reward that the derivatives of step {}{} were taken of is {}. Lower the learning rate of the gradient "
            "(or warm it up), or look for a division by zero, a logarithm or a root in the system.",
            step, in_a_row_ > 1 ? fmt::format(" and of the {} before it", in_a_row_ - 1) : "", reward);
    }

   private:
    std::uint32_t in_a_row_ = 0;
    bool named_ = false;
};

/// What the optimizer and K-FAC have left as it was, since it would not have been finite.
class SkippedElements {
   public:
    void add(SystemObjective& objective, std::uint64_t elements, std::uint32_t step) {
        if (elements == 0) return;
        objective.skipped(0, elements);
        if (std::exchange(named_, true)) return;
        log_warning(fmt::format(
            "By step {} {} parameters were left as they were, because they or their moments would not be finite: lower "
            "the learning rate, or look for a derivative that is not finite, such as that of a root at 0. Later ones "
            "are counted without a notice.",
            step, elements));
    }

   private:
    bool named_ = false;
};

class GradientSearch final : public Search {
   public:
    explicit GradientSearch(SystemObjective& objective) : objective_(&objective) {}
    [[nodiscard]] std::string name() const override { return "derivatives"; }
    [[nodiscard]] std::uint64_t candidates_per_generation(const OptimizeOptions& options) const override {
        return std::uint64_t{options.evolution.population} + 2;  // at most: with EGGROLL beside
    }
    [[nodiscard]] Result<void> run(Objective& /*the same*/) override;

   private:
    SystemObjective* objective_;
};

/// All groups by derivatives.
class Alone final : public SearchGenerations {
   public:
    Alone(SystemObjective& objective, Gradients& gradients) : objective_(objective), gradients_(gradients) {}

    Result<void> begin(const evolve::EvolutionState& first) {
        host_ = first.parameters;
        done_ = first.generation;
        const std::uint64_t bytes = objective_.space().table.size_bytes();
        YOLK_TRY(parameters_,
                 objective_.dispatcher().device().create_buffer({.size_bytes = bytes, .label = "parameters"}));
        YOLK_TRY_VOID(objective_.dispatcher().upload(parameters_, std::as_bytes(std::span(host_))));
        YOLK_TRY(descent_, Descent::create(objective_.dispatcher(), *objective_.options().gradient, parameters_,
                                           gradients_.gradient(), first.optimizer));
        return {};
    }

    [[nodiscard]] Perturbations candidates() const override {
        return {.table = objective_.space().table,
                .mean = host_,
                .device_mean = parameters_,
                .when = {.seed = objective_.options().evolution.seed, .generation = done_, .time = done_},
                .rank = objective_.noise_rank(),
                .first_member = -1,
                .members = 1};
    }
    [[nodiscard]] Result<std::optional<GenerationReport>> make(const Perturbations& candidates) override {
        const OptimizeOptions& options = objective_.options();
        if (done_ >= options.generations) {
            YOLK_TRY_VOID(objective_.evaluate(candidates));
            return std::optional<GenerationReport>();
        }
        if (!objective_.affords(1)) return std::optional<GenerationReport>();
        YOLK_TRY(const double reward, gradients_.evaluate(parameters_, host_, done_));
        const GenerationReport report{.generation = done_,
                                      .mean = reward,
                                      .best = reward,
                                      .unperturbed = reward,
                                      .learning_rate = double{learning_rate_at(*options.gradient, done_)}};
        YOLK_TRY(const bool steps, watch_.take(objective_, reward, done_));
        if (steps) YOLK_TRY_VOID(objective_.offer(candidates, reward));
        YOLK_TRY_VOID(objective_.look_at_held_out(candidates));  // at the mean that is there until the step
        if (steps) YOLK_TRY_VOID(step());
        ++done_;
        return std::optional(report);
    }
    [[nodiscard]] std::uint32_t done() const override { return done_; }
    /// What came of the last step.
    [[nodiscard]] Result<void> finish() {
        YOLK_TRY(const std::uint64_t skipped, descent_->take_skipped());
        skipped_.add(objective_, skipped, done_);
        return {};
    }
    [[nodiscard]] Result<evolve::EvolutionState> state() const override {
        YOLK_TRY_VOID(objective_.settle());
        evolve::EvolutionState state{.parameters = host_, .optimizer = {}, .generation = done_};
        YOLK_TRY_VOID(fetch(state.parameters));
        YOLK_TRY(state.optimizer, descent_->state());
        return state;
    }

   private:
    Result<void> step() {
        YOLK_TRY_VOID(finish());
        YOLK_TRY_VOID(descent_->step(done_));  // on the device after the copy of the best, which reads what it changes
        YOLK_TRY(const std::uint64_t skipped, gradients_.move_by_kfac(parameters_, done_));
        skipped_.add(objective_, skipped, done_);
        return objective_.host_rows().empty() ? Result<void>() : fetch(host_);
    }
    Result<void> fetch(std::span<float> values) const {
        YOLK_TRY_VOID(descent_->settle());
        return objective_.dispatcher().download(parameters_, std::as_writable_bytes(values));
    }

    SystemObjective& objective_;
    Gradients& gradients_;
    Buffer parameters_;
    std::optional<Descent> descent_;
    std::vector<float> host_;
    std::uint32_t done_ = 0;
    RewardWatch watch_;
    SkippedElements skipped_;
};

/// Some groups by derivatives, the others by EGGROLL.
class Beside final : public Generations {
   public:
    Beside(SystemObjective& objective, Gradients& gradients, ParameterTable table)
        : Generations(objective, std::move(table)), gradients_(gradients) {
        for (std::uint32_t id = 0; id < this->table().parameters().size(); ++id) {
            const ParameterDesc& row = this->table().parameters()[id];
            if (row.perturbation == Perturbation::Frozen)
                trained_.push_back({.first = this->table().offset(ParameterId(id)), .count = row.rows * row.columns});
        }
    }

    Result<void> begin(evolve::EvolutionState first) {
        const OptimizeOptions& options = objective().options();
        const std::size_t own =
            std::size_t{optimizer_state_arrays(options.evolution.optimizer)} * table().element_count();
        // The moments of both, EGGROLL's first.
        const auto cut = first.optimizer.begin() + static_cast<std::ptrdiff_t>(std::min(own, first.optimizer.size()));
        const std::vector<float> moments(cut, first.optimizer.end());
        first.optimizer.erase(cut, first.optimizer.end());
        YOLK_TRY_VOID(Generations::begin(std::move(first)));
        YOLK_TRY(descent_, Descent::create(objective().dispatcher(), *options.gradient, device_mean(),
                                           gradients_.gradient(), moments));
        return {};
    }

    [[nodiscard]] Result<std::optional<GenerationReport>> make(const Perturbations& candidates) override {
        if (is_over()) return Generations::make(candidates);
        if (!objective().affords(std::uint64_t{1} + candidates.members)) return std::optional<GenerationReport>();
        YOLK_TRY(const double reward, gradients_.evaluate(device_mean(), candidates.mean, done()));
        YOLK_TRY(const bool steps, watch_.take(objective(), reward, done()));
        if (!steps) return Generations::make(candidates);
        YOLK_TRY_VOID(objective().settle());
        YOLK_TRY_VOID(descent_->step(done()));
        YOLK_TRY(const std::uint64_t skipped, descent_->take_skipped());
        YOLK_TRY(const std::uint64_t skipped_by_kfac, gradients_.move_by_kfac(device_mean(), done()));
        skipped_.add(objective(), skipped + skipped_by_kfac, done());
        YOLK_TRY_VOID(host().fetch(trained_));
        return Generations::make(candidates);
    }
    [[nodiscard]] Result<evolve::EvolutionState> state() const override {
        YOLK_TRY(evolve::EvolutionState state, Generations::state());
        YOLK_TRY(const std::vector<float> moments, descent_->state());
        state.optimizer.insert(state.optimizer.end(), moments.begin(), moments.end());
        return state;
    }

   private:
    Gradients& gradients_;
    std::optional<Descent> descent_;
    std::vector<evolve::ElementRange> trained_;
    RewardWatch watch_;
    SkippedElements skipped_;
};

Result<void> GradientSearch::run(Objective& /*the same*/) {
    SystemObjective& objective = *objective_;
    const OptimizeOptions& options = objective.options();
    if (!options.gradient) return bad_input("A search by derivatives needs OptimizeOptions::gradient.");
    YOLK_TRY(const std::unique_ptr<Gradients> gradients, objective.gradients(options.gradient->groups));
    YOLK_TRY(ParameterTable table, frozen_in(objective.space().table, gradients->groups()));
    if (all_are_frozen(table)) {
        Alone alone(objective, *gradients);
        YOLK_TRY_VOID(alone.begin(objective.first_state()));
        YOLK_TRY_VOID(run_generations(objective, alone));
        return alone.finish();
    }
    Beside beside(objective, *gradients, std::move(table));
    YOLK_TRY_VOID(beside.begin(objective.first_state()));
    return run_generations(objective, beside);
}

}  // namespace

std::unique_ptr<Search> gradient_search(SystemObjective& objective) {
    return std::make_unique<GradientSearch>(objective);
}

}  // namespace yolk::hyper
