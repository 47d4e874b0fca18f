// SPDX-License-Identifier: Apache-2.0
// Expected improvement of a Gaussian below a value, class P: the same bits on every device and in C++.
#ifndef YOLK_EXACT_IMPROVEMENT_H
#define YOLK_EXACT_IMPROVEMENT_H
#include "yolk/exact/exact_math.h"
EXACT_BEGIN

// z Phi(z) + phi(z), z clamped to [-11, 2^20], so that results are at least 2^-100. With a = |z| the upper tail of the
// normal distribution is phi(a) p(t) t, t = 1 / (1 + 0.2316419 a), by Abramowitz and Stegun 26.2.17, off by 7.5e-8 at
// most; beyond 3, where that is much of what is left, phi(a) / (a + q), q = 1 / (a + 2 / (a + ... 7 / a)) (26.2.14):
// too large by 1e-4 of what is left at 3, by less beyond. Nothing cancels there: 1 - a / (a + q) = q / (a + q).
EXACT_CONST uint kImprovementLowest = 0xC1300000u;   // -11
EXACT_CONST uint kImprovementHighest = 0x49800000u;  // 2^20
EXACT_CONST uint kImprovementDensity = 0x3ECC422Au;  // 1 / sqrt(2 pi)
EXACT_CONST uint kImprovementT = 0x3E6D3389u;
EXACT_CONST uint kImprovementC1 = 0x3EA385FAu;
EXACT_CONST uint kImprovementC2 = 0xBEB68F87u;
EXACT_CONST uint kImprovementC3 = 0x3FE40778u;
EXACT_CONST uint kImprovementC4 = 0xBFE91EEAu;
EXACT_CONST uint kImprovementC5 = 0x3FAA466Fu;
EXACT_CONST uint kImprovementTwo = 0x40000000u;
EXACT_CONST uint kImprovementThree = 0x40400000u;
EXACT_CONST uint kImprovementFour = 0x40800000u;
EXACT_CONST uint kImprovementFive = 0x40A00000u;
EXACT_CONST uint kImprovementSix = 0x40C00000u;
EXACT_CONST uint kImprovementSeven = 0x40E00000u;
EXACT_FUNCTION float exact_improvement(float z) {
    exact_float v = exact_select(z > exact_from_bits(kImprovementHighest), exact_from_bits(kImprovementHighest), z);
    v = exact_select(v < exact_from_bits(kImprovementLowest), exact_from_bits(kImprovementLowest), v);
    exact_float a = exact_abs(v);
    exact_float square = exact_flush_operand(a) * exact_flush_operand(a);
    exact_float exponent = exact_flush(square) * (exact_from_bits(kExactSignMask | kExactHalf));
    exact_float density = exact_exp(exponent) * exact_from_bits(kImprovementDensity);
    exact_float divisor = exact_from_bits(kExactOne) + exact_flush_operand(a) * exact_from_bits(kImprovementT);
    exact_float t = exact_reciprocal(divisor);
    exact_float p = exact_from_bits(kImprovementC5) * t + exact_from_bits(kImprovementC4);
    p = p * t + exact_from_bits(kImprovementC3);
    p = p * t + exact_from_bits(kImprovementC2);
    p = p * t + exact_from_bits(kImprovementC1);
    p = p * t;
    exact_float near = exact_from_bits(kExactOne) - exact_flush_operand(a) * p;
    exact_float b = exact_select(a > exact_from_bits(kExactOne), a, exact_from_bits(kExactOne));
    exact_float q = exact_from_bits(kImprovementSeven) * exact_reciprocal(b);
    exact_float below = b + q;
    q = exact_from_bits(kImprovementSix) * exact_reciprocal(below);
    below = b + q;
    q = exact_from_bits(kImprovementFive) * exact_reciprocal(below);
    below = b + q;
    q = exact_from_bits(kImprovementFour) * exact_reciprocal(below);
    below = b + q;
    q = exact_from_bits(kImprovementThree) * exact_reciprocal(below);
    below = b + q;
    q = exact_from_bits(kImprovementTwo) * exact_reciprocal(below);
    below = b + q;
    q = exact_reciprocal(below);
    below = b + q;
    exact_float far = q * exact_reciprocal(below);
    exact_float share = a > exact_from_bits(kImprovementThree) ? far : near;
    exact_float tail = exact_flush(density) * share;
    exact_float whole = v + tail;
    return exact_select(exact_bits(v) < kExactSignMask, whole, exact_flush(tail));
}

// One step off a variance.
EXACT_FUNCTION float exact_variance_less(float variance, float left, float right) {
    exact_float rest = variance - exact_flush_operand(left) * exact_flush_operand(right);
    return rest;
}

EXACT_CONST uint kImprovementLeastVariance = 0x2EDBE6FFu;  // 1e-10
EXACT_FUNCTION float exact_least_variance(float variance) {
    return exact_select(variance > exact_from_bits(kImprovementLeastVariance), variance,
                        exact_from_bits(kImprovementLeastVariance));
}

// What a candidate gains, with a mean that is lower by mean_slack and a variance that is higher by variance_slack.
EXACT_FUNCTION float exact_gain(float prior, float value, float unit, float variance, float level, float best,
                                float deviation, float mean_slack, float variance_slack, float stretch) {
    exact_float shift = exact_flush_operand(level) * exact_flush_operand(unit);
    exact_float expected =
        (exact_flush_operand(prior) + exact_flush_operand(value)) + (exact_flush_operand(level) - shift);
    exact_float gap = (exact_flush_operand(best) - expected) + exact_flush_operand(mean_slack);
    exact_float wide = variance + variance_slack;
    exact_float spread = deviation * exact_sqrt(wide);
    exact_float z = exact_flush(gap) * exact_reciprocal(spread);
    exact_float gain = exact_improvement(exact_flush(z)) * (spread * stretch);
    return exact_flush(gain);
}

EXACT_END
#endif
