// SPDX-License-Identifier: Apache-2.0
// What is taken where a configuration of a space cannot be planned.
#pragma once

#include <algorithm>
#include <cstddef>
#include <vector>

#include "yolk/internal/runtime/tuning_space.hpp"
#include "yolk/result.hpp"

namespace yolk {

/// Legal configurations other than `from`, those with the fewest other knobs first: all of a small space; of a large
/// one those that differ in at most two knobs.
[[nodiscard]] std::vector<Configuration> alternatives(const TuningSpace& space, const Configuration& from);

/// `first`, the plan of `from`; where that is refused for its configuration, the plan of the nearest one that can be
/// planned. `plan` makes one of a configuration. Error: that of `first`.
template <class Plan, class Make>
[[nodiscard]] Result<Plan> or_alternative(const TuningSpace& space, const Configuration& from, Result<Plan> first,
                                          const Make& plan) {
    constexpr std::size_t kMostTries = 64;
    const bool depends_on_it =
        !first && (first.error().kind == ErrorKind::Unsupported || first.error().kind == ErrorKind::BadInput);
    if (!depends_on_it) return first;
    const std::vector<Configuration> others = alternatives(space, from);
    for (std::size_t i = 0; i < std::min(others.size(), kMostTries); ++i) {
        if (Result<Plan> planned = plan(others[i])) return planned;
    }
    return first;
}

}  // namespace yolk
