// SPDX-License-Identifier: Apache-2.0
// The order of the sums of shaders/lib/rows.glsl.
#pragma once

#include <array>
#include <cstddef>

namespace yolk::reference {

/// term(k) for k below `columns`: element k joins chain k % 32, then the upper half of the chains joins the lower.
template <class Number, class Term>
[[nodiscard]] Number row_sum(std::size_t columns, Term&& term) {
    std::array<Number, 32> chains{};
    for (std::size_t k = 0; k < columns; ++k) chains[k % 32] = chains[k % 32] + term(k);
    for (std::size_t half = 16; half > 0; half /= 2) {
        for (std::size_t lane = 0; lane < half; ++lane) chains[lane] = chains[lane] + chains[lane + half];
    }
    return chains[0];
}

}  // namespace yolk::reference
