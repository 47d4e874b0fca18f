// SPDX-License-Identifier: Apache-2.0
#include "followed_centre.hpp"

#include <fmt/format.h>

#include <utility>

#include "yolk/evolve/state_digest.hpp"

namespace yolk::hyper {

Result<std::string> FollowedCentre::digest() const {
    return evolve::state_digest(state_.parameters, state_.optimizer, state_.generation);
}

Result<void> FollowedCentre::make_on(std::size_t lead) {
    evolve::EvolutionParts parts{.parameters = objective_->space().table,
                                 .initial = state_.parameters,
                                 .evaluator = {},  // scores come from outside
                                 .optimizer_state = state_.optimizer,
                                 .generation = state_.generation};
    YOLK_TRY(evolve::Evolution made,
             evolve::Evolution::create(devices_->device(lead), devices_->dispatcher(lead), std::move(parts), options_));
    evolution_.emplace(std::move(made));
    return {};
}

Result<void> FollowedCentre::make_evolution() {
    while (true) {
        evolution_.reset();
        YOLK_TRY(lead_, devices_->lead());
        const Result<void> made = make_on(lead_);
        if (made) unproven_since_ = state_.generation;
        if (made || !evolve::is_of_device(made.error())) return made;
        devices_->drop(lead_, made.error().message);
    }
}

/// Float rules have no twin to the bit, and audits are of exact mode.
bool FollowedCentre::is_audited() const {
    const evolve::DevicePoolOptions& options = devices_->options();
    return is_integer_rule(options_.fitness) && options_.determinism == Determinism::Exact &&
           evolve::is_update_audited(options.audit, options.seed, state_.generation);
}

Result<bool> FollowedCentre::step_on_lead(const evolve::ShapedGeneration& shaped) {
    YOLK_TRY(const evolve::GenerationSummary summary, evolution_->apply(shaped));
    YOLK_TRY_VOID(watch_.take(summary));
    if (!summary.has_finite || summary.skipped_elements > 0)
        objective_->skipped(summary.has_finite ? 0 : 1, summary.skipped_elements);
    const std::span<const float> parameters = evolution_->parameters();
    const std::span<const float> optimizer = evolution_->optimizer_state();
    CentreState next{.parameters = {parameters.begin(), parameters.end()},
                     .optimizer = {optimizer.begin(), optimizer.end()},
                     .generation = state_.generation + 1};
    if (is_audited()) {
        if (!same_bits(next, updated_by_twin(state_, objective_->space().table, options_, shaped))) return false;
        unproven_since_ = next.generation;
    }
    if (objective_->clamp(next.parameters)) YOLK_TRY_VOID(evolution_->set_parameters(next.parameters));
    state_ = std::move(next);
    return true;
}

Result<std::optional<std::size_t>> FollowedCentre::step(const evolve::ShapedGeneration& shaped) {
    while (true) {
        // It may have been dropped while it evaluated.
        if (!evolution_ || !devices_->is_used(lead_)) YOLK_TRY_VOID(make_evolution());
        const Result<bool> right = step_on_lead(shaped);
        if (right && *right) return std::optional<std::size_t>();
        if (!right && !evolve::is_of_device(right.error())) return right.error();
        devices_->drop(lead_, right ? fmt::format("It computes wrongly: its update of step {} is not the exact twin's.",
                                                  state_.generation)
                                    : right.error().message);
        if (right) return std::optional(lead_);
    }
}

}  // namespace yolk::hyper
