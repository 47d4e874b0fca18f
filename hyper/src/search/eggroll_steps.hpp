// SPDX-License-Identifier: Apache-2.0
// What EGGROLL's steps on one device and over several have in common.
#pragma once

#include <cstdint>
#include <span>

#include "yolk/evolve/schedule.hpp"
#include "yolk/hyper/optimize.hpp"

namespace yolk::hyper {

/// `rewards`: the centre's first.
[[nodiscard]] StepReport report_of(std::uint32_t step, std::span<const double> rewards,
                                   const evolve::Schedule& schedule);

/// The whole search over objective.devices(): the centre is on the host from step to step, the update on the first
/// device in use. One that is lost is followed by the next, from the host's copy.
[[nodiscard]] Result<void> search_over_devices(Objective& objective, const evolve::EvolutionOptions& options);

}  // namespace yolk::hyper
