// SPDX-License-Identifier: Apache-2.0
// What EGGROLL's steps on one device, over several and on the host have in common.
#pragma once

#include <cstdint>
#include <limits>
#include <memory>
#include <span>

#include "yolk/evolve/schedule.hpp"
#include "yolk/hyper/optimize.hpp"

namespace yolk::hyper {

[[nodiscard]] inline bool has_other_ranks(const OptimizeOptions& options) noexcept {
    return options.exchange != nullptr && options.exchange->ranks() > 1;
}

/// Of those rewards that are finite.
struct RewardSums {
    double sum = 0.0;
    double best = -std::numeric_limits<double>::infinity();
    std::uint64_t finite = 0;
};
[[nodiscard]] RewardSums sum_rewards(std::span<const double> rewards);
[[nodiscard]] StepReport report_of(std::uint32_t step, double centre, const RewardSums& members,
                                   const evolve::Schedule& schedule);

/// The whole search over objective.devices(), and with the ranks of OptimizeOptions::exchange: the centre is on the
/// host from step to step, the update on the fastest device in use. One that is lost is followed by the next, from the
/// host's copy.
[[nodiscard]] Result<void> search_over_devices(Objective& objective);
/// The same search without a device, by one rank and an integer rule of fitness.
[[nodiscard]] std::unique_ptr<Search> host_eggroll();

}  // namespace yolk::hyper
