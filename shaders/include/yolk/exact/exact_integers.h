// SPDX-License-Identifier: Apache-2.0
// Operations that GLSL leaves undefined for some operands, defined for all of them: division, remainders, shifts, bit
// fields, indices, conversions of floats to integers (docs/environments.md, docs/adr/0040). Class E: integers only, the
// same bits on every device and in C++.
#ifndef YOLK_EXACT_INTEGERS_H
#define YOLK_EXACT_INTEGERS_H
#include "yolk/exact/exact_math.h"
EXACT_BEGIN

// a / b; 0 where b is 0.
EXACT_FUNCTION uint exact_divide(uint a, uint b) {
    uint divisor = b == 0u ? 1u : b;
    return exact_select(b == 0u, 0u, a / divisor);
}
// a - b * exact_divide(a, b), so a where b is 0.
EXACT_FUNCTION uint exact_remainder(uint a, uint b) {
    uint divisor = b == 0u ? 1u : b;
    return exact_select(b == 0u, a, a % divisor);
}

// |x|; 2^31 for the smallest int.
EXACT_FUNCTION uint exact_magnitude(int x) { return exact_select(x < 0, 0u - uint(x), uint(x)); }

// a / b rounded towards zero, as in C++; 0 where b is 0. The smallest int by -1 is the smallest int: it wraps.
EXACT_FUNCTION int exact_divide(int a, int b) {
    uint quotient = exact_divide(exact_magnitude(a), exact_magnitude(b));
    return int(exact_select((a < 0) != (b < 0), 0u - quotient, quotient));
}
// a - b * exact_divide(a, b): it has the sign of a, as in C++; a where b is 0.
EXACT_FUNCTION int exact_remainder(int a, int b) {
    uint rest = exact_remainder(exact_magnitude(a), exact_magnitude(b));
    return int(exact_select(a < 0, 0u - rest, rest));
}

// A count of 32 or more shifts every bit out: 0, or -1 where a negative int is shifted right.
EXACT_FUNCTION uint exact_shift_left(uint x, uint count) { return exact_select(count > 31u, 0u, x << (count & 31u)); }
EXACT_FUNCTION uint exact_shift_right(uint x, uint count) { return exact_select(count > 31u, 0u, x >> (count & 31u)); }
EXACT_FUNCTION int exact_shift_right(int x, uint count) { return x >> int(count > 31u ? 31u : count); }

// The lowest `count` bits; all for 32 or more.
EXACT_FUNCTION uint exact_low_bits(uint count) {
    return exact_select(count > 31u, 0xFFFFFFFFu, (1u << (count & 31u)) - 1u);
}
// `count` bits of x from bit `offset` on; those beyond the 32nd count as 0.
EXACT_FUNCTION uint exact_extract_bits(uint x, uint offset, uint count) {
    return exact_shift_right(x, offset) & exact_low_bits(count);
}
// x with its bits from `offset` on replaced by the lowest `count` of `bits`; those beyond the 32nd are dropped.
EXACT_FUNCTION uint exact_insert_bits(uint x, uint bits, uint offset, uint count) {
    uint mask = exact_shift_left(exact_low_bits(count), offset);
    return (x & ~mask) | (exact_shift_left(bits, offset) & mask);
}

// The nearest of 0 ... count - 1; count is at least 1.
EXACT_FUNCTION uint exact_index(uint index, uint count) { return exact_select(index < count, index, count - 1u); }
EXACT_FUNCTION int exact_index(int index, int count) {
    int last = exact_select(index < count, index, count - 1);
    return last < 0 ? 0 : last;
}

// The whole part of a number by the bits of its magnitude; 2^32 - 1 from 2^32 on.
EXACT_FUNCTION uint exact_whole_part(uint magnitude) {
    uint exponent = magnitude >> 23;
    uint significand = (magnitude & 0x007FFFFFu) | 0x00800000u;      // times 2^(exponent - 150)
    uint down = exact_select(exponent < 150u, 150u - exponent, 0u);  // from 24 on all bits are gone
    uint up = exact_select(exponent < 150u, 0u, exponent - 150u);
    uint whole = exact_shift_left(exact_shift_right(significand, down), up);
    return exponent < 159u ? whole : 0xFFFFFFFFu;
}
// Towards zero; the nearest int where an int cannot hold it, 0 for NaN.
EXACT_FUNCTION int exact_to_int(float x) {
    uint magnitude = exact_bits(x) & kExactMagnitudeMask;
    uint whole = exact_whole_part(magnitude);
    bool negative = exact_bits(x) >= kExactSignMask;
    uint most = negative ? 0x80000000u : 0x7FFFFFFFu;
    uint held = whole < most ? whole : most;
    return exact_select(magnitude > 0x7F800000u, 0, int(exact_select(negative, 0u - held, held)));
}
// Towards zero; the nearest uint where a uint cannot hold it (0 for negative numbers), 0 for NaN.
EXACT_FUNCTION uint exact_to_uint(float x) {
    uint bits = exact_bits(x);
    return exact_select(bits > 0x7F800000u, 0u, exact_whole_part(bits));  // above: NaN, or a sign
}

EXACT_END
#endif
