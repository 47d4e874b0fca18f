// SPDX-License-Identifier: Apache-2.0
// The product of matrices that a perturbed layer is built on. Pure functions of plain data.
#pragma once

#include <algorithm>
#include <cstdint>

#include "yolk/perturbed_linear.hpp"

namespace yolk {

/// Columns of x, and of the output.
[[nodiscard]] inline std::uint32_t inner_size(const PerturbedLinearDesc& d) noexcept {
    return d.transposed ? d.out : d.in;
}
[[nodiscard]] inline std::uint32_t outer_size(const PerturbedLinearDesc& d) noexcept {
    return d.transposed ? d.in : d.out;
}

/// Whether x or W is of 16 bits.
[[nodiscard]] inline bool is_16bit(const PerturbedLinearDesc& d) noexcept {
    return d.weights_format != FloatFormat::F32 || d.input_format != FloatFormat::F32;
}

/// k that one iteration of a projection adds: STEP_K of perturbed_linear.glsl.
[[nodiscard]] constexpr std::uint32_t projection_step(std::uint32_t rank) noexcept {
    if (rank >= 8) return 1;
    return rank % 4 == 0 ? 2 : rank % 2 == 0 ? 4 : 8;
}

/// Rho that the kernels handle at once.
[[nodiscard]] constexpr std::uint32_t rho_chunk(std::uint32_t rank) noexcept { return std::min(rank, 8U); }

/// Rows that one uniform buffer holds for sure, a multiple of block_m; 0 where not even block_m fit, or where a shared
/// x does not fit as a whole.
[[nodiscard]] std::uint32_t uniform_input_rows(const PerturbedLinearDesc& desc,
                                               const PerturbedLinearConfig& config) noexcept;

}  // namespace yolk
