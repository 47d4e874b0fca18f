// SPDX-License-Identifier: Apache-2.0
// EGGROLL over several devices.
#include <algorithm>
#include <iterator>
#include <optional>
#include <utility>
#include <vector>

#include "eggroll_steps.hpp"
#include "yolk/evolve/evolution.hpp"

namespace yolk::hyper {
namespace {

/// What the next step depends on, on the host: a device that is lost takes nothing with it.
struct CentreState {
    std::vector<float> parameters, optimizer;
    std::uint32_t generation = 0;
};

/// The centre, and the update of it on the first device that can.
class FollowedCentre {
   public:
    FollowedCentre(Objective& objective, const evolve::EvolutionOptions& options)
        : objective_(&objective),
          devices_(objective.devices()),
          options_(options),
          state_{.parameters = objective.space().centre, .optimizer = {}} {}

    [[nodiscard]] const CentreState& state() const noexcept { return state_; }
    /// From `rewards` of the members.
    [[nodiscard]] Result<void> step(std::span<const double> rewards);
    [[nodiscard]] Result<void> go_back(CentreState state) {
        state_ = std::move(state);
        return make_evolution();
    }

   private:
    [[nodiscard]] Result<void> make_evolution();
    [[nodiscard]] Result<void> make_on(std::size_t lead);
    [[nodiscard]] Result<void> step_on_lead(std::span<const double> rewards);

    Objective* objective_;
    evolve::DevicePool* devices_;
    evolve::EvolutionOptions options_;
    CentreState state_;
    std::optional<evolve::Evolution> evolution_;
    std::span<float> returns_;  // of its evaluator
    std::size_t lead_ = 0;
};

Result<void> FollowedCentre::make_on(std::size_t lead) {
    evolve::EvolutionParts parts{.parameters = objective_->space().table,
                                 .initial = state_.parameters,
                                 .optimizer_state = state_.optimizer,
                                 .generation = state_.generation};
    const Device& device = devices_->device(lead);
    YOLK_TRY(std::unique_ptr<evolve::HostScoresEvaluator> scores,
             evolve::host_scores_evaluator(device, options_.population));
    returns_ = scores->returns();
    parts.evaluator = std::move(scores);
    YOLK_TRY(evolve::Evolution made,
             evolve::Evolution::create(device, devices_->dispatcher(lead), std::move(parts), options_));
    evolution_.emplace(std::move(made));
    return {};
}

Result<void> FollowedCentre::make_evolution() {
    while (true) {
        evolution_.reset();
        YOLK_TRY(lead_, devices_->lead());
        const Result<void> made = make_on(lead_);
        if (made || !evolve::is_of_device(made.error())) return made;
        devices_->drop(lead_, made.error().message);
    }
}

Result<void> FollowedCentre::step_on_lead(std::span<const double> rewards) {
    std::ranges::transform(rewards, returns_.begin(), [](double reward) { return static_cast<float>(reward); });
    YOLK_TRY_VOID(evolution_->step());
    const std::span<const float> parameters = evolution_->parameters();
    const std::span<const float> optimizer = evolution_->optimizer_state();
    CentreState next{.parameters = {parameters.begin(), parameters.end()},
                     .optimizer = {optimizer.begin(), optimizer.end()},
                     .generation = state_.generation + 1};
    if (objective_->clamp(next.parameters)) YOLK_TRY_VOID(evolution_->set_parameters(next.parameters));
    state_ = std::move(next);
    return {};
}

Result<void> FollowedCentre::step(std::span<const double> rewards) {
    while (true) {
        // It may have been dropped while it evaluated.
        if (!evolution_ || !devices_->is_used(lead_)) YOLK_TRY_VOID(make_evolution());
        const Result<void> done = step_on_lead(rewards);
        if (done || !evolve::is_of_device(done.error())) return done;
        devices_->drop(lead_, done.error().message);
    }
}

/// States that an audit may have to go back to. Where a device computed wrongly the newest one from before it is
/// taken; a few are kept, so that this may be a little further back than need be.
class Trail {
   public:
    struct Place {
        SearchMark mark;
        CentreState state;
    };
    /// `verified`: nothing evaluated before this number can turn out wrong any more.
    void add(Place place, std::uint32_t verified) {
        if (!places_.empty() && places_.back().mark.evaluation == place.mark.evaluation) return;
        places_.push_back(std::move(place));
        const auto after = std::ranges::find_if(places_, [&](const Place& p) { return p.mark.evaluation > verified; });
        if (after != places_.begin()) places_.erase(places_.begin(), std::prev(after));
        if (places_.size() <= kMostPlaces) return;
        std::size_t index = 0;
        std::erase_if(places_, [&](const Place&) { return index++ % 2 == 1; });
    }
    /// What is later is forgotten.
    [[nodiscard]] const Place& back_to(std::uint32_t spoilt_since) {
        while (places_.size() > 1 && places_.back().mark.evaluation > spoilt_since) places_.pop_back();
        return places_.back();
    }

   private:
    static constexpr std::size_t kMostPlaces = 16;
    std::vector<Place> places_;
};

}  // namespace

Result<void> search_over_devices(Objective& objective, const evolve::EvolutionOptions& options) {
    const bool audited = objective.devices()->options().audit > 0.0;
    FollowedCentre centre(objective, options);
    Trail trail;
    Perturbations candidates{.table = objective.space().table,
                             .centre = centre.state().parameters,
                             .rank = options.rank,
                             .first_member = -1,
                             .antithetic = options.antithetic};
    while (true) {
        const std::uint32_t step = centre.state().generation;
        const evolve::Schedule schedule(options, step);
        if (audited && !objective.spoilt_since())
            trail.add({.mark = objective.mark(), .state = centre.state()}, objective.devices()->verified());
        const bool is_over = step == objective.options().steps;  // what the last step made competes as well
        candidates.centre = centre.state().parameters;
        candidates.when = schedule.noise_time();
        candidates.members = is_over ? 1 : options.population + 1;
        YOLK_TRY(const std::vector<double> rewards, objective.evaluate(candidates));
        const bool goes_on = !is_over && !rewards.empty() && !objective.spoilt_since() &&
                             objective.report(report_of(step, rewards, schedule), candidates);
        if (const std::optional<std::uint32_t> spoilt = objective.spoilt_since()) {
            const Trail::Place& place = trail.back_to(*spoilt);
            YOLK_TRY_VOID(objective.go_back(place.mark));
            YOLK_TRY_VOID(centre.go_back(place.state));
            continue;
        }
        if (!goes_on) return {};  // or the budget; the best centre so far is kept
        YOLK_TRY_VOID(centre.step(std::span(rewards).subspan(1)));
    }
}

}  // namespace yolk::hyper
