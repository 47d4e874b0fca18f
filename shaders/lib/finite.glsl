// SPDX-License-Identifier: Apache-2.0
// By the bits: a compiler may assume that no comparison of floats ever meets a NaN.
#ifndef YOLK_FINITE_GLSL
#define YOLK_FINITE_GLSL

bool is_finite(float x) { return (floatBitsToUint(x) & 0x7F800000u) != 0x7F800000u; }

#endif
