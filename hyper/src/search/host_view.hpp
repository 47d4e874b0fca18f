// SPDX-License-Identifier: Apache-2.0
// What the host knows of a mean that is made and updated on the device.
#pragma once

#include <algorithm>
#include <span>
#include <vector>

#include "objective.hpp"
#include "yolk/evolution.hpp"

namespace yolk::hyper {

/// Where the rows of a table that the host reads are among its elements.
[[nodiscard]] inline std::vector<evolve::ElementRange> elements_of(const ParameterTable& table,
                                                                   std::span<const ParameterId> rows) {
    std::vector<evolve::ElementRange> ranges;
    for (const ParameterId row : rows) {
        const ParameterDesc& desc = table.parameters()[row.value];
        ranges.push_back({.first = table.offset(row), .count = desc.rows * desc.columns});
    }
    return ranges;
}

/// What the host knows of a mean that lives on the device: the rows that it reads, inside their bounds, as the next
/// generation finds them.
class HostView {
   public:
    HostView(const SystemObjective& objective, evolve::Evolution& evolution)
        : objective_(&objective),
          evolution_(&evolution),
          ranges_(elements_of(evolution.table(), objective.host_rows())),
          mean_(evolution.parameters().begin(), evolution.parameters().end()) {
        move_into_bounds(objective.bounds(), mean_);
    }

    [[nodiscard]] std::span<const float> mean() const noexcept { return mean_; }
    /// After a generation.
    void follow() {
        const std::span<const float> now = evolution_->parameters();
        for (const evolve::ElementRange& range : ranges_)
            std::ranges::copy(now.subspan(range.first, range.count), mean_.begin() + range.first);
        move_into_bounds(objective_->bounds(), mean_);
    }

    /// Other elements, that something else has changed on the device. Blocks.
    [[nodiscard]] Result<void> fetch(std::span<const evolve::ElementRange> ranges) {
        YOLK_TRY_VOID(evolution_->refresh());
        const std::span<const float> now = evolution_->parameters();
        for (const evolve::ElementRange& range : ranges)
            std::ranges::copy(now.subspan(range.first, range.count), mean_.begin() + range.first);
        return {};
    }

    /// All of it, as the last generation left it. Blocks.
    [[nodiscard]] Result<evolve::EvolutionState> state() const {
        YOLK_TRY_VOID(evolution_->refresh());
        const std::span<const float> parameters = evolution_->parameters();
        const std::span<const float> optimizer = evolution_->optimizer_state();
        return evolve::EvolutionState{.parameters = {parameters.begin(), parameters.end()},
                                      .optimizer = {optimizer.begin(), optimizer.end()},
                                      .generation = evolution_->generations()};
    }

   private:
    const SystemObjective* objective_;
    evolve::Evolution* evolution_;
    std::vector<evolve::ElementRange> ranges_;
    std::vector<float> mean_;
};

}  // namespace yolk::hyper
