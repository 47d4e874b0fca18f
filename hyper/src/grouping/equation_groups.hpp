// SPDX-License-Identifier: Apache-2.0
// Equations that one kernel computes together (docs/adr/0061, docs/adr/0068): what lies between them is never written.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "emitter.hpp"
#include "fusion.hpp"
#include "group_space.hpp"

namespace yolk::hyper::population {

/// What decides which equations go together.
struct GroupQuestion {
    PlacedExamples of;
    std::span<const Fused> fused;
    /// By equation: those of one number are in one phase and may be left out together.
    std::span<const std::size_t> places;
    /// By variable: something else than an equation on the device takes it.
    const std::vector<bool>& taken;
    bool joined = true;  ///< false: each equation is a group of its own
};

struct EquationGroup {
    std::vector<std::size_t> equations;  ///< ascending; the kernel runs at the last one's place
};

/// Groups: elementwise equations, one alone as well, and several of which some work along rows. One goes with those
/// that read its result where all are in one group, and the group has a description (group_draft.hpp) with it.
[[nodiscard]] std::vector<EquationGroup> find_groups(const GroupQuestion& question);
/// One step for a group that was found for these examples, or for others of the same structure.
void emit_group(Emitter& emitter, const PlacedExamples& examples, const EquationGroup& group);

}  // namespace yolk::hyper::population
