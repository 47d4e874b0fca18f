// SPDX-License-Identifier: Apache-2.0
// The centre of a search over several devices: on the host from step to step, updated on one of them.
#pragma once

#include <cstddef>
#include <optional>
#include <string>

#include "yolk/evolve/device_pool.hpp"
#include "yolk/evolve/evolution.hpp"
#include "yolk/evolve/shaped_generation.hpp"
#include "yolk/hyper/optimize.hpp"

namespace yolk::hyper {

/// A lead that fails is followed by the next one, from the host's copy. What it is given must outlive it.
class FollowedCentre {
   public:
    FollowedCentre(Objective& objective, evolve::DevicePool& devices, const evolve::EvolutionOptions& options)
        : objective_(&objective), devices_(&devices), options_(options), state_(objective.first_state()) {}

    [[nodiscard]] const CentreState& state() const noexcept { return state_; }
    /// The device that made the last update.
    [[nodiscard]] const std::string& lead_name() const noexcept { return devices_->name(lead_); }
    /// The same for the same state, on any device. Error, Failed: a value that is not finite.
    [[nodiscard]] Result<std::string> digest() const;
    /// One update, clamped into the bounds. Where it is drawn for an audit, the exact twin makes it as well; a device
    /// whose update is another is dropped. The value is that device: the search is to go back to unproven_since(), and
    /// to before what it evaluated. Errors: no finite score, no device is left.
    [[nodiscard]] Result<std::optional<std::size_t>> step(const evolve::ShapedGeneration& shaped);
    /// The device that made updates is not in use any more, and no other one has made one.
    [[nodiscard]] bool has_lost_lead() const noexcept { return evolution_ && !devices_->is_used(lead_); }
    /// Updates before this generation are proven, or were made before the present lead.
    [[nodiscard]] std::uint32_t unproven_since() const noexcept { return unproven_since_; }
    [[nodiscard]] Result<void> go_back(CentreState state) {
        state_ = std::move(state);
        return make_evolution();
    }

   private:
    [[nodiscard]] Result<void> make_evolution();
    [[nodiscard]] Result<void> make_on(std::size_t lead);
    /// Whether the update is right, as far as an audit was drawn.
    [[nodiscard]] Result<bool> step_on_lead(const evolve::ShapedGeneration& shaped);
    [[nodiscard]] bool is_audited() const;

    Objective* objective_;
    evolve::DevicePool* devices_;
    evolve::EvolutionOptions options_;
    CentreState state_;
    std::optional<evolve::Evolution> evolution_;
    std::size_t lead_ = 0;
    std::uint32_t unproven_since_ = 0;
    evolve::NotFiniteWatch watch_{objective_->options().examples_per_step > 0};
};

}  // namespace yolk::hyper
