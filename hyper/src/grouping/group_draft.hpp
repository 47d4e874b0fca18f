// SPDX-License-Identifier: Apache-2.0
// Equations as the description of the one kernel that computes them: a program of elements, or of rows where one of
// them works along rows.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "emitter.hpp"
#include "group_space.hpp"

namespace yolk::hyper::population {

/// An operand of an equation that none of its group makes, seen with that equation's shape.
struct GroupInput {
    Operand operand;
    std::uint32_t dimensions = 0;  ///< bit d: it has the program's dimension d
};
/// For one member.
struct GroupDraft {
    ProgramDesc desc;  ///< extents: members, examples, those of tensors
    std::vector<GroupInput> inputs;
};

/// Equations in their order; the last one's result is the kernel's, and nothing else of theirs is written. Nothing
/// where no kernel can take them, or it would take too long to compile, or compute too much again.
[[nodiscard]] std::optional<GroupDraft> draft_of(const PlacedExamples& examples,
                                                 std::span<const std::size_t> equations);

}  // namespace yolk::hyper::population
