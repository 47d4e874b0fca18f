// SPDX-License-Identifier: Apache-2.0
// Inputs for the checks of kernels on rows.
#pragma once

#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <vector>

#include "check_tools.hpp"

namespace yolk::oracle {

enum class RowInputs {
    Plain,   ///< -4 to 4
    Ties,    ///< few values, exactly 1 and both zeros among them
    Wide,    ///< magnitudes from 2^-45 to 2^20, so that some are no operands
    Huge,    ///< up to 2^40
    Tiny,    ///< below 2^-38, denormals among them
    Steep,   ///< -200 to 200: most exponentials vanish
    Masked,  ///< -4 to 4, a third of them -infinity, never a whole row of them: every 16th element is finite
};

[[nodiscard]] constexpr const char* name_of(RowInputs inputs) noexcept {
    return std::array{"plain", "ties", "wide", "huge", "tiny", "steep", "masked"}[static_cast<std::size_t>(inputs)];
}

[[nodiscard]] inline float row_input(Draws& draws, RowInputs inputs) {
    constexpr std::array kTies{-2.0F, -0.0F, 0.0F, 0.5F, 1.0F, 1.0F};
    const float unit = draws.uniform(-1.0F, 1.0F);
    switch (inputs) {
        case RowInputs::Plain: return 4.0F * unit;
        case RowInputs::Ties: return draws.one_of(kTies);
        case RowInputs::Wide: return std::ldexp(unit, static_cast<int>(draws.below(66)) - 45);
        case RowInputs::Huge: return std::ldexp(unit, 40);
        case RowInputs::Steep: return 200.0F * unit;
        case RowInputs::Masked: return draws.below(3) == 0 ? -std::numeric_limits<float>::infinity() : 4.0F * unit;
        case RowInputs::Tiny: break;
    }
    return std::ldexp(unit, -38 - static_cast<int>(draws.below(4) * 30));
}

[[nodiscard]] inline std::vector<float> row_inputs(std::uint64_t seed, std::size_t count, RowInputs inputs) {
    Draws draws(seed, static_cast<std::uint32_t>(count));
    std::vector<float> values(count);
    for (std::size_t i = 0; i < count; ++i) {
        values[i] = row_input(draws, inputs == RowInputs::Masked && i % 16 == 0 ? RowInputs::Plain : inputs);
    }
    return values;
}

/// Rows and columns for which GPUs give a row 32, 64, 128 and 256 lanes: fewer where rows are many or short.
inline constexpr std::array<std::array<std::uint32_t, 2>, 5> kLargeRows{
    {{65536, 64}, {2048, 4096}, {1024, 4096}, {512, 4096}, {16, 65536}}};

}  // namespace yolk::oracle
