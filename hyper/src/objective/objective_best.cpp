// SPDX-License-Identifier: Apache-2.0
// Which parameters a search keeps, and what it left out on the way. A reward that is not finite never wins.
#include <algorithm>
#include <cmath>
#include <limits>

#include "objective.hpp"

namespace yolk::hyper {

void SystemObjective::compete(std::span<const float> coordinates, double reward) {
    if (!std::isfinite(reward) || !(reward > outcome_.best_reward)) return;
    // A search of the caller's may ask anything, and a system may not depend on all of it.
    if (!std::ranges::all_of(coordinates, [](float value) { return std::isfinite(value); })) return;
    outcome_.best_reward = reward;
    ++best_changes_;
    best_.emplace(coordinates.begin(), coordinates.end());
    kept_.forget();
}

Result<void> SystemObjective::compete(const Perturbations& around, double reward) {
    if (draws()) {
        YOLK_TRY(const bool keeps, is_to_keep([&] { return held_out_reward(around); }, reward));
        if (!keeps) return {};
        outcome_.best_reward = -std::numeric_limits<double>::infinity();  // whatever it was on other examples
    }
    if (around.device_mean.empty()) {
        compete(around.mean, reward);
        return {};
    }
    if (!std::isfinite(reward) || !(reward > outcome_.best_reward)) return {};
    outcome_.best_reward = reward;
    return kept_.keep(*dispatcher_, around, host_rows_);
}

Result<void> SystemObjective::fetch_best() {
    if (!kept_.is_kept()) return {};
    YOLK_TRY(best_, kept_.fetch(*dispatcher_));
    kept_.forget();
    return {};
}

void SystemObjective::skipped(std::uint32_t generations, std::uint64_t elements) {
    outcome_.skipped_generations += generations;
    outcome_.skipped_elements += elements;
    skipped_in_generation_ += elements;
}

}  // namespace yolk::hyper
