// SPDX-License-Identifier: Apache-2.0
// Elementwise equations that one kernel computes together (docs/adr/0061): what lies between them is never written.
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <vector>

#include "emitter.hpp"
#include "fusion.hpp"
#include "yolk/elementwise.hpp"

namespace yolk::hyper::population {

struct PlacedExamples {
    const Graph& graph;
    const PlacedGraph& placed;
    std::uint32_t count = 1;
    IsUniform is_uniform;
};
/// What decides which equations go together.
struct ElementQuestion {
    PlacedExamples of;
    std::span<const Fused> fused;
    /// By equation: those of one number are in one phase and may be left out together.
    std::span<const std::size_t> places;
    /// By variable: something else than an equation on the device takes it.
    const std::vector<bool>& taken;
    bool joined = true;  ///< false: each equation is a group of its own
};

struct ElementGroup {
    std::vector<std::size_t> equations;  ///< ascending; the kernel runs at the last one's place
};

/// An operand of an equation that none of its group makes, seen with that equation's shape.
struct ElementInput {
    Operand operand;
    std::uint32_t dimensions = 0;  ///< bit d: it has the program's dimension d
};
/// A group as a kernel's description, for one member.
struct ElementDraft {
    ElementwiseDesc desc;  ///< extents: members, examples, those of a tensor
    std::vector<ElementInput> inputs;
};

/// Groups; one equation alone is one, too. An equation goes with those that read its result where all are in one group,
/// and their elements are as many as its own.
[[nodiscard]] std::vector<ElementGroup> find_element_groups(const ElementQuestion& question);
/// Nothing where no kernel can take them: too many inputs, or inputs that lie in too many ways.
[[nodiscard]] std::optional<ElementDraft> draft_of(const PlacedExamples& examples,
                                                   std::span<const std::size_t> equations);
/// One step for a group that was found for these examples, or for others of the same structure.
void emit_elements(Emitter& emitter, const PlacedExamples& examples, const ElementGroup& group);

}  // namespace yolk::hyper::population
