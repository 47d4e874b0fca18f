// SPDX-License-Identifier: Apache-2.0
// What the twins of kernels on rows share: the order of the sums of shaders/lib/rows.glsl, and its maximum.
#pragma once

#include <array>
#include <bit>
#include <cmath>
#include <cstddef>
#include <cstdint>

namespace yolk::reference {

/// The bits of every NaN that a kernel gives on purpose.
inline constexpr std::uint32_t kRowNanBits = 0x7FC00000U;
[[nodiscard]] constexpr float row_nan() noexcept { return std::bit_cast<float>(kRowNanBits); }

/// term(k) for k below `columns`: element k joins chain k % 32, then the upper half of the chains joins the lower.
template <class Term>
[[nodiscard]] float row_sum_twin(std::size_t columns, Term&& term) {
    std::array<float, 32> chains{};
    for (std::size_t k = 0; k < columns; ++k) chains[k % 32] += term(k);
    for (std::size_t half = 16; half > 0; half /= 2) {
        for (std::size_t lane = 0; lane < half; ++lane) chains[lane] += chains[lane + half];
    }
    return chains[0];
}

/// The place of the first NaN, else of the first of the largest.
template <class Term>
[[nodiscard]] std::size_t row_argmax_twin(std::size_t columns, Term&& term) {
    std::size_t best = 0;
    for (std::size_t k = 0; k < columns; ++k) {
        if (std::isnan(term(k))) return k;
        if (term(k) > term(best)) best = k;
    }
    return best;
}

}  // namespace yolk::reference
