// SPDX-License-Identifier: Apache-2.0
// An operand's block as matrix units stage it (shaders/matmul/matmul_cooperative_staged.comp). Pure functions of plain
// data.
#pragma once

#include <cstdint>

namespace yolk {

/// In vectors, of 16 bytes but for shapes of int8 whose k is 8. A line is what lies side by side in memory.
struct StagedOperand {
    std::uint32_t lines = 0;
    std::uint32_t line = 0;
    std::uint32_t vector_bytes = 16;

    [[nodiscard]] std::uint32_t vectors() const noexcept { return lines * line; }
    /// What an invocation stages.
    [[nodiscard]] std::uint32_t portion(std::uint32_t workgroup_size) const noexcept {
        return vectors() / workgroup_size;
    }
    /// On the invocations, whole lines at once.
    [[nodiscard]] bool comes_out_even(std::uint32_t workgroup_size) const noexcept {
        return line > 0 && vectors() % workgroup_size == 0 && workgroup_size % line == 0;
    }
    /// Of shared memory: lines are one vector apart.
    [[nodiscard]] std::uint64_t bytes() const noexcept { return std::uint64_t{lines} * (line + 1) * vector_bytes; }
};

}  // namespace yolk
