// SPDX-License-Identifier: Apache-2.0
// The integer arithmetic of the byte model (docs/kernels/byte_model.md): clips, rounded quotients, powers of two and
// their logarithm in sixteenths of a bit. Class E: no sum or product leaves 32 bits, and nothing is divided but by a
// multiplication that is exact in its range. `symmetric` 0 rounds to minus infinity, as the published rule does, 1 to
// the nearest integer, halves away from zero, so that x and -x are mirror images.
#ifndef YOLK_EXACT_BYTES_H
#define YOLK_EXACT_BYTES_H
#include "yolk/exact/exact_prelude.h"
EXACT_BEGIN

// Noise in [-30, 30] of variance 85, in the published rule's sixteenths: 3 a b of two elements has the deviation 255,
// 28 v of one 258, where the product of two of its table's entries has 256.
EXACT_CONST int kByteMatrixUnit = 3;
EXACT_CONST int kByteVectorUnit = 28;
EXACT_CONST uint kByteValues = 256u;

EXACT_FUNCTION int byte_clip(int x) {
    int low = x < -127 ? -127 : x;
    return low > 127 ? 127 : low;
}

// x / 2^bits, bits at most 30; |x| below 2^30.
EXACT_FUNCTION int byte_shift(int x, uint bits, uint symmetric) {
    int magnitude = exact_select(x < 0, -x, x);
    int nearest = (magnitude + ((1 << int(bits)) >> 1)) >> int(bits);
    return exact_select(symmetric == 0u, x >> int(bits), exact_select(x < 0, -nearest, nearest));
}

// ceil(2^19 / root), for byte_scale; root is at least 1.
EXACT_FUNCTION uint byte_scale_magic(uint root) { return (0x80000u + root - 1u) / root; }

// sum / (16 root), clipped; root from 1 to 32, of a layer's inputs the whole part of the square root. The numerator is
// at most 257 root after its shift, and 257 root^2 < 2^19, so the product with the magic number is exact.
EXACT_FUNCTION int byte_scale(int sum, uint root, uint magic, uint symmetric) {
    int most = int(2048u * root);
    int held = sum > most ? most : sum;
    held = exact_select(sum < -most, -most, held);
    int magnitude = exact_select(held < 0, -held, held);
    uint numerator = exact_select(symmetric == 0u, uint(held + most), uint(magnitude) + 8u * root);
    int quotient = int(((numerator >> 4) * magic) >> 19);
    return byte_clip(exact_select(symmetric == 0u, quotient - 128, exact_select(sum < 0, -quotient, quotient)));
}

// The divisor of a normalization: the mean magnitude, at least 1.
EXACT_FUNCTION uint byte_mean(uint magnitudes, uint width) {
    uint mean = magnitudes / width;
    return mean == 0u ? 1u : mean;
}
// ceil(2^22 / mean), for byte_normalize.
EXACT_FUNCTION uint byte_mean_magic(uint mean) { return (0x400000u + mean - 1u) / mean; }

// x weight / mean, clipped; mean from 1 to 127. The numerator is at most 257 mean, and 257 mean^2 < 2^22.
EXACT_FUNCTION int byte_normalize(int x, int weight, uint mean, uint magic, uint symmetric) {
    int product = x * weight;
    int most = int(128u * mean);
    int held = product > most ? most : product;
    held = exact_select(product < -most, -most, held);
    int magnitude = exact_select(held < 0, -held, held);
    uint numerator = exact_select(symmetric == 0u, uint(held + most), uint(magnitude) + (mean >> 1));
    int quotient = int((numerator * magic) >> 22);
    return byte_clip(exact_select(symmetric == 0u, quotient - 128, exact_select(product < 0, -quotient, quotient)));
}

// The recurrent cell. Each operand is in [-127, 127], so the gate is in [0, 254] of 256.
EXACT_FUNCTION int byte_gated(int gate, int state, uint symmetric) {
    return byte_shift((gate + 127) * state, 8u, symmetric);
}
EXACT_FUNCTION int byte_next_state(int gate, int state, int candidate, uint symmetric) {
    return byte_clip(state + byte_shift((gate + 127) * (candidate - state), 8u, symmetric));
}

// The whole part of 2^(30 + f/16), f below 16.
EXACT_FUNCTION uint byte_root_of_two(uint f) {
    uint a = (f & 1u) == 0u ? 0x40000000u : 0x42D561B3u;
    uint b = (f & 1u) == 0u ? 0x45CAE0F1u : 0x48E1E9B9u;
    uint c = (f & 1u) == 0u ? 0x4C1BF828u : 0x4F7A9930u;
    uint d = (f & 1u) == 0u ? 0x52FF6B54u : 0x56AC1F75u;
    uint e = (f & 1u) == 0u ? 0x5A827999u : 0x5E8451CFu;
    uint g = (f & 1u) == 0u ? 0x62B39508u : 0x6712460Au;
    uint h = (f & 1u) == 0u ? 0x6BA27E65u : 0x70666F76u;
    uint i = (f & 1u) == 0u ? 0x75606373u : 0x7A92BE8Au;
    uint low = exact_select((f & 4u) == 0u, exact_select((f & 2u) == 0u, a, b), exact_select((f & 2u) == 0u, c, d));
    uint high = exact_select((f & 4u) == 0u, exact_select((f & 2u) == 0u, e, g), exact_select((f & 2u) == 0u, h, i));
    return (f & 8u) == 0u ? low : high;
}

// The whole part of 16 * 2^((logit + 128) / 16): at most 1,004,119, so that 256 of them fit 32 bits.
EXACT_FUNCTION uint byte_power(int logit) {
    uint j = uint(logit + 128);
    return byte_root_of_two(j & 15u) >> int((26u - (j >> 4)) & 31u);
}

// The whole part of 16 log2(sum / 16), sum at least 16: the largest j with 2^(4 + j/16) <= sum. With the highest bit of
// the sum moved to bit 30, and 2^(30 + f/16) no integer but for f = 0, that is a count of comparisons.
EXACT_FUNCTION int byte_log(uint sum) {
    uint x = sum;
    int highest = 0;
    if (x >= 0x10000u) {
        x = x >> 16;
        highest += 16;
    }
    if (x >= 0x100u) {
        x = x >> 8;
        highest += 8;
    }
    if (x >= 0x10u) {
        x = x >> 4;
        highest += 4;
    }
    if (x >= 0x4u) {
        x = x >> 2;
        highest += 2;
    }
    if (x >= 0x2u) {
        highest += 1;
    }
    uint aligned = sum << int(30 - highest);
    int f = 0;
    for (uint i = 1u; i < 16u; ++i) f += aligned > byte_root_of_two(i) ? 1 : 0;
    return 16 * (highest - 4) + f;
}

// Log-likelihood of a byte with this logit, in sixteenths of a bit; `sum` of byte_power over all 256 logits.
EXACT_FUNCTION int byte_likelihood(int logit, uint sum) { return logit + 128 - byte_log(sum); }

EXACT_END
#endif
