// SPDX-License-Identifier: Apache-2.0
// The spread of all scores from their exact sums, in units that neither overflow nor underflow. Class P.
#ifndef YOLK_FITNESS_SPREAD_GLSL
#define YOLK_FITNESS_SPREAD_GLSL
#include "wide_integer.glsl"

const uint kEpsilonBits = 0x3727C5ACu;  // 1e-5, the z-score's

uvec3 limbs_of_16(uint first, uint count) {
    uvec3 sum = uvec3(0u);
    for (uint limb = 0u; limb < count; ++limb) sum = wide_add(sum, wide_shifted(state[first + limb], 16u * limb));
    return sum;
}

// Sum of the quantized scores, two words in two's complement. `invocations`: of fitness_moments, each of which added
// kSumOffset.
uvec2 quantized_sum(uint invocations) {
    uvec3 offset = wide_multiply(uvec3(kSumOffset, 0u, 0u), invocations);
    uvec3 sum = limbs_of_16(kStateSum, 2u);
    uint borrow;
    uint low = usubBorrow(sum.x, offset.x, borrow);
    return uvec2(low, sum.y - offset.y - borrow);
}

// Population variance in units of 4^(E-24): (N S2 - S1^2) / N^2, the integer exact, converted once.
float quantized_variance(uint invocations) {
    uvec2 sum = quantized_sum(invocations);
    if ((sum.y & kExactSignMask) != 0u) sum = uvec2(~sum.x + 1u, ~sum.y + (sum.x == 0u ? 1u : 0u));
    uvec3 integer = wide_subtract(wide_multiply(limbs_of_16(kStateSquares, 4u), params.population), wide_square(sum));
    float variance = product(uintBitsToFloat(wide_to_float_bits(integer)), params.reciprocal_population);
    return product(variance, params.reciprocal_population);
}

// The unit of the quantities below is 2^K, K = max(E, -40): large scores do not overflow, the epsilon of small ones
// does not either.
int spread_exponent() { return max(biased_exponent() - int(kBias), -40); }

// 1 / sqrt(variance + 1e-5) in units of 2^-K; 0 where both vanish.
float inverse_deviation(uint invocations) {
    int unit = spread_exponent();
    int quantum = biased_exponent() - int(kBias) - 24;
    float variance = scaled(quantized_variance(invocations), 2 * (quantum - unit));
    precise float sum = variance + scaled(uintBitsToFloat(kEpsilonBits), -2 * unit);
    float deviation = exact_sqrt(sum);
    return deviation == 0.0 ? 0.0 : exact_reciprocal(deviation);
}

// A difference in units of 2^E, brought to units of 2^K.
float in_spread_units(float difference) {
    return scaled(difference, biased_exponent() - int(kBias) - spread_exponent());
}

#endif
