// SPDX-License-Identifier: Apache-2.0
// EGGROLL without a device, for systems of which nothing runs on one: noise, fitness and update by their exact twins,
// so the same centres as on a device in exact mode.
#include <algorithm>
#include <utility>
#include <vector>

#include "eggroll_steps.hpp"
#include "search_steps.hpp"
#include "yolk/evolve/schedule.hpp"
#include "yolk/evolve/update_twin.hpp"
#include "yolk/hyper/optimize.hpp"

namespace yolk::hyper {
namespace {

class HostGenerations final : public SearchSteps {
   public:
    explicit HostGenerations(Objective& objective)
        : objective_(&objective), options_(objective.options().evolution), state_(objective.first_state()) {
        options_.rank = objective.noise_rank();
        schedule_ = evolve::Schedule(options_, state_.generation);
    }

    [[nodiscard]] Perturbations candidates() const override {
        return {.table = objective_->space().table,
                .centre = state_.parameters,
                .when = schedule_.noise_time(),
                .rank = options_.rank,
                .first_member = -1,
                .members = is_over() ? 1 : options_.population + 1,
                .antithetic = options_.antithetic};
    }
    [[nodiscard]] Result<std::optional<StepReport>> evaluate(const Perturbations& candidates) override {
        YOLK_TRY(const std::vector<double> rewards, objective_->evaluate(candidates));
        if (rewards.empty() || is_over()) return std::optional<StepReport>();
        const std::span<const double> members = std::span(rewards).subspan(1);
        returns_.assign(members.begin(), members.end());
        return std::optional(report_of(done(), rewards.front(), sum_rewards(members), schedule_));
    }
    [[nodiscard]] Result<bool> update() override {
        const evolve::ShapedGeneration shaped = evolve::shaped_by_twin({.population = options_.population,
                                                                        .episodes = 1,
                                                                        .rule = options_.fitness,
                                                                        .robust = options_.robust,
                                                                        .group_size = options_.group_size,
                                                                        .antithetic = options_.antithetic,
                                                                        .config = {}},
                                                                       returns_);
        if (shaped.summary.finite_count == 0)
            return failed_work("In step {} no candidate has a finite reward, so there is nothing to learn from.",
                               done());
        state_ = evolve::updated_by_twin(std::move(state_), objective_->space().table, options_, shaped);
        objective_->clamp(state_.parameters);
        schedule_.advance();
        return true;
    }
    [[nodiscard]] std::uint32_t done() const override { return state_.generation; }
    [[nodiscard]] Result<CentreState> state() const override { return state_; }

   private:
    [[nodiscard]] bool is_over() const { return done() >= objective_->options().steps; }

    Objective* objective_;
    evolve::EvolutionOptions options_;
    CentreState state_;
    evolve::Schedule schedule_;
    std::vector<float> returns_{};
};

class HostEggroll final : public Search {
   public:
    [[nodiscard]] std::string name() const override { return "eggroll"; }
    [[nodiscard]] std::uint64_t candidates_per_step(const OptimizeOptions& options) const override {
        return std::uint64_t{options.evolution.population} + 1;
    }
    [[nodiscard]] Result<void> run(Objective& objective) override {
        HostGenerations generations(objective);
        return run_steps(objective, generations);
    }
};

}  // namespace

std::unique_ptr<Search> host_eggroll() { return std::make_unique<HostEggroll>(); }

}  // namespace yolk::hyper
