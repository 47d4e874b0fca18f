// SPDX-License-Identifier: Apache-2.0
// Parameters with bounds: the knobs of a system.
#pragma once

#include <algorithm>
#include <cstdint>
#include <span>

namespace yolk::evolve {

/// Of one element of the parameters. A generation moves it inside before it perturbs it; the update may leave it
/// outside, and so may the state that a log or a checkpoint has.
struct ElementBounds {
    std::uint32_t element = 0;
    float lower = 0.0F;
    float upper = 0.0F;
};

/// Whether any element moved. Bounds are of elements of `parameters`.
inline bool move_into_bounds(std::span<const ElementBounds> bounds, std::span<float> parameters) {
    bool moved = false;
    for (const ElementBounds& each : bounds) {
        float& value = parameters[each.element];
        const float inside = std::clamp(value, each.lower, each.upper);
        moved = moved || inside != value;
        value = inside;
    }
    return moved;
}

}  // namespace yolk::evolve
