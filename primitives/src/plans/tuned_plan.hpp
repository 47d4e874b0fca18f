// SPDX-License-Identifier: Apache-2.0
// How a plan comes to a configuration that its description leaves unset.
#pragma once

#include <cstdint>

#include "yolk/device.hpp"
#include "yolk/internal/primitives/alternatives.hpp"
#include "yolk/internal/runtime/shape_requests.hpp"
#include "yolk/internal/runtime/tuning_space.hpp"
#include "yolk/internal/runtime/tuning_table.hpp"
#include "yolk/result.hpp"

namespace yolk {

/// Rows of all members together, as an extent of a TuningShape.
[[nodiscard]] constexpr std::uint64_t row_count(std::uint64_t members, std::uint64_t rows) noexcept {
    return members * rows;
}

/// A plan with what the device's table knows for the shape of `space`; with `heuristic` where it knows nothing, or
/// where that cannot be planned after all (a nearer shape's loops may be longer than this device allows); else with the
/// nearest configuration that can. Error: the heuristic's. `plan` is the primitive's own function, called again with
/// the configuration in `desc`.
template <class Desc, class Config, class Plan>
[[nodiscard]] Result<Plan> plan_tuned(const Device& device, const Desc& desc, const ConfigSpace<Config>& space,
                                      const Config& heuristic, Result<Plan> (*plan)(const Device&, const Desc&)) {
    note_asked(device, space.space());
    Desc chosen = desc;
    if (const auto table = device.tuning_table(); table != nullptr) {
        if (const auto found = table->find(space.space())) {
            chosen.config = space.config(found->configuration);
            if (Result<Plan> planned = plan(device, chosen)) return planned;
        }
    }
    chosen.config = heuristic;
    return or_alternative(space.space(), space.configuration(heuristic), plan(device, chosen),
                          [&](const Configuration& other) {
                              chosen.config = space.config(other);
                              return plan(device, chosen);
                          });
}

}  // namespace yolk
