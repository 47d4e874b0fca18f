// SPDX-License-Identifier: Apache-2.0
// What a generation's exact integers come to as fp32, in class P: once per generation, from the same sums whatever
// found them. Formulas in docs/kernels/fitness.md; E is the exponent of the largest finite magnitude.
#pragma once

#include <cstdint>

#include "yolk/exact/exact_math.h"

namespace yolk::reference {

__extension__ using WideSum = unsigned __int128;

/// x * y by the product rule (docs/adr/0002-denormals-never-arise.md).
[[nodiscard]] constexpr float flushed_score_product(float x, float y) { return exact::exact_flush(x * y); }
/// x * 2^power: zero below 2^-100, the largest finite number where it would overflow.
[[nodiscard]] float scaled_score(float x, int power);

/// Sums of the scores in multiples of 2^(E-24), and what follows from them.
struct ScoreMoments {
    std::uint32_t population = 0;
    int exponent = 0;  ///< E
    std::int64_t sum = 0;
    WideSum squares = 0;

    [[nodiscard]] float reciprocal() const { return 1.0F / static_cast<float>(population); }
    [[nodiscard]] int unit() const;  ///< exponent of the spread's unit
    [[nodiscard]] float mean() const;
    [[nodiscard]] float variance() const;
    /// 1 / sqrt(variance + 1e-5) in units of 2^-unit().
    [[nodiscard]] float inverse_deviation() const;
};

/// `scale` is the difference that becomes 127, in units of 2^E.
[[nodiscard]] float difference_coefficient(const ScoreMoments& moments, float scale);
[[nodiscard]] float sign_coefficient(std::uint32_t population, std::uint32_t nonzero_pairs);
/// `largest` is the rank (or difference of ranks) that becomes 127, `squares` the sum over all doubled centred ranks.
[[nodiscard]] float rank_coefficient(std::uint32_t population, std::int64_t largest, std::uint64_t squares);
/// What becomes 127 with `robust`: six medians, or the largest difference where that is smaller.
[[nodiscard]] float robust_scale(float largest, float median);

}  // namespace yolk::reference
