// SPDX-License-Identifier: Apache-2.0
// How a plan comes to a configuration that its description leaves unset.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "yolk/core/result.hpp"
#include "yolk/runtime/device.hpp"
#include "yolk/runtime/shape_requests.hpp"
#include "yolk/runtime/tuning_space.hpp"
#include "yolk/runtime/tuning_table.hpp"

namespace yolk {

/// Rows of all members together, as an extent of a TuningShape.
[[nodiscard]] constexpr std::uint64_t row_count(std::uint64_t members, std::uint64_t rows) noexcept {
    return members * rows;
}

/// Legal configurations other than `from`, those with the fewest other knobs first: all of a small space; of a large
/// one those that differ in at most two knobs.
[[nodiscard]] std::vector<Configuration> alternatives(const TuningSpace& space, const Configuration& from);

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
    Result<Plan> first = plan(device, chosen);
    const bool depends_on_it =
        !first && (first.error().kind == ErrorKind::Unsupported || first.error().kind == ErrorKind::BadInput);
    if (!depends_on_it) return first;
    constexpr std::size_t kMostTries = 64;
    const std::vector<Configuration> others = alternatives(space.space(), space.configuration(heuristic));
    for (std::size_t i = 0; i < std::min(others.size(), kMostTries); ++i) {
        chosen.config = space.config(others[i]);
        if (Result<Plan> planned = plan(device, chosen)) return planned;
    }
    return first;
}

}  // namespace yolk
