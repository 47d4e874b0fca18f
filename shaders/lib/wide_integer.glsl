// SPDX-License-Identifier: Apache-2.0
// Unsigned integers of 96 bits, least significant word first, and their one conversion to fp32. Class E; host twins use
// 128-bit integers.
#ifndef YOLK_LIB_WIDE_INTEGER_GLSL
#define YOLK_LIB_WIDE_INTEGER_GLSL

uvec3 wide_add(uvec3 a, uvec3 b) {
    uint carry0, carry1, carry2;
    uint low = uaddCarry(a.x, b.x, carry0);
    uint middle = uaddCarry(a.y, b.y, carry1);
    middle = uaddCarry(middle, carry0, carry2);
    return uvec3(low, middle, a.z + b.z + carry1 + carry2);
}

// a - b for a >= b.
uvec3 wide_subtract(uvec3 a, uvec3 b) {
    uint borrow0, borrow1, borrow2;
    uint low = usubBorrow(a.x, b.x, borrow0);
    uint middle = usubBorrow(a.y, b.y, borrow1);
    middle = usubBorrow(middle, borrow0, borrow2);
    return uvec3(low, middle, a.z - b.z - borrow1 - borrow2);
}

// a * b modulo 2^96.
uvec3 wide_multiply(uvec3 a, uint b) {
    uint high0, low0, high1, low1;
    umulExtended(a.x, b, high0, low0);
    umulExtended(a.y, b, high1, low1);
    return wide_add(uvec3(low0, high0, 0u), uvec3(0u, low1, high1 + a.z * b));
}

// (x + 2^32 y)^2 modulo 2^96.
uvec3 wide_square(uvec2 a) {
    return wide_add(wide_multiply(uvec3(a, 0u), a.x), uvec3(0u, wide_multiply(uvec3(a, 0u), a.y).xy));
}

// value * 2^shift, shift below 96, modulo 2^96.
uvec3 wide_shifted(uint value, uint shift) {
    uint within = shift % 32u;
    uvec2 pieces = uvec2(value << within, within == 0u ? 0u : value >> (32u - within));
    if (shift < 32u) return uvec3(pieces, 0u);
    return shift < 64u ? uvec3(0u, pieces) : uvec3(0u, 0u, pieces.x);
}

// Bits of the fp32 number nearest to `a`, ties to even.
uint wide_to_float_bits(uvec3 a) {
    if (a == uvec3(0u)) return 0u;
    uint leading = a.z != 0u ? 64u + uint(findMSB(a.z)) : a.y != 0u ? 32u + uint(findMSB(a.y)) : uint(findMSB(a.x));
    if (leading < 24u) return ((leading + 126u) << 23) + (a.x << (23u - leading));
    uint shift = leading - 23u;  // bits that fall off, 1 ... 72
    uint word = shift / 32u;
    uint within = shift % 32u;
    uint here = word == 0u ? a.x : word == 1u ? a.y : a.z;
    uint above = word == 0u ? a.y : word == 1u ? a.z : 0u;
    uint significand = within == 0u ? here : (here >> within) | (above << (32u - within));
    // What fell off, compared with one half: its top bit, and whether any other is set.
    uint half_bit = shift - 1u;
    uint half_word = half_bit / 32u;
    uint half_source = half_word == 0u ? a.x : half_word == 1u ? a.y : a.z;
    bool half_set = ((half_source >> (half_bit % 32u)) & 1u) != 0u;
    uint rest = half_source & ((1u << (half_bit % 32u)) - 1u);
    if (half_word > 0u) rest |= a.x;
    if (half_word > 1u) rest |= a.y;
    if (half_set && (rest != 0u || (significand & 1u) != 0u)) ++significand;
    // The implicit bit adds one to the exponent, and so does a significand that rounded up to 2^24.
    return ((leading + 126u) << 23) + significand;
}

// The same for a two-word integer in two's complement.
float signed_to_float(uvec2 a) {
    bool negative = (a.y & 0x80000000u) != 0u;
    if (negative) a = uvec2(~a.x + 1u, ~a.y + (a.x == 0u ? 1u : 0u));
    return uintBitsToFloat(wide_to_float_bits(uvec3(a, 0u)) | (negative ? 0x80000000u : 0u));
}

#endif
