// SPDX-License-Identifier: Apache-2.0
// Activations of class P (docs/kernels/elementwise.md), in the conventions of exact_math.h. Product rule
// (docs/adr/0002): arguments below 2^-100 are read as zero, results are zero or at least 2^-100; relu and identity,
// which compute nothing, keep their bits. NaN gives the NaN kExactNan, whatever its sign and payload (but for
// identity); infinities give the limits. Errors are measured against double by oracle/tests/exact_math_test.cpp.
#ifndef YOLK_EXACT_ACTIVATIONS_H
#define YOLK_EXACT_ACTIVATIONS_H
#include "yolk/exact/exact_math.h"
#include "yolk/internal/abi/activation.h"
EXACT_BEGIN
#ifdef __cplusplus
using namespace abi::activation;  // NOLINT(google-build-using-namespace): the constants, as GLSL sees them
#endif

EXACT_CONST uint kExactInfinity = 0x7F800000u;
EXACT_CONST uint kExactNan = 0x7FC00000u;

EXACT_FUNCTION bool exact_is_nan(float x) { return (exact_bits(x) & kExactMagnitudeMask) > kExactInfinity; }

// max(0, x): the bits of x where it is positive, +0 elsewhere. Exact.
EXACT_FUNCTION float exact_relu(float x) {
    uint bits = exact_select((exact_bits(x) & kExactSignMask) == 0u, exact_bits(x), kExactZero);
    return exact_from_bits(exact_is_nan(x) ? kExactNan : bits);
}

// 1 / (1 + exp(-x)); 0 below -69. By exp(-|x|), so that neither side cancels. Relative error at most 2.5e-7. 40
// operations.
EXACT_FUNCTION float exact_sigmoid(float x) {
    exact_float e = exact_exp(exact_from_bits(exact_bits(x) | kExactSignMask));
    exact_float d = exact_from_bits(kExactOne) + e;
    exact_float s = exact_reciprocal(d);
    exact_float t = e * s;
    uint bits = exact_select((exact_bits(x) & kExactSignMask) == 0u, exact_bits(s), exact_bits(t));
    return exact_from_bits(exact_is_nan(x) ? kExactNan : bits);
}

// x sigmoid(x): x from 69 on, 0 below -69. Error at most 1e-30 + 2.7e-7
// |result|. 46 operations.
EXACT_CONST uint kSiluLimit = 0x428A0000u;  // 69
EXACT_FUNCTION float exact_silu(float x) {
    exact_float p = exact_flush(x) * exact_sigmoid(x);
    uint magnitude = exact_bits(x) & kExactMagnitudeMask;
    uint limit = exact_select((exact_bits(x) & kExactSignMask) == 0u, exact_bits(x), kExactZero);
    uint bits = exact_select(magnitude > kSiluLimit, limit, exact_bits(exact_flush(p)));
    return exact_from_bits(exact_is_nan(x) ? kExactNan : bits);
}

// Gaussian error linear unit, tanh form (Hendrycks and Gimpel 2016, arXiv:1606.08415, section 2): x/2 (1 + tanh(u)),
// u = sqrt(2/pi) (x + 0.044715 x^3), computed as x sigmoid(2u), which does not cancel: x from 12 on, 0 below -12.
// Error at most 3e-8 + 2.5e-7 |result|. 53 operations.
EXACT_CONST uint kGeluLimit = 0x41400000u;  // 12
EXACT_CONST uint kGeluC1 = 0x3FCC422Au;     // 2 sqrt(2/pi)
EXACT_CONST uint kGeluC3 = 0x3D922279u;     // 0.044715 times that
EXACT_FUNCTION float exact_gelu(float x) {
    uint magnitude = exact_bits(x) & kExactMagnitudeMask;
    exact_float v = exact_flush(x);
    exact_float w = v * (exact_from_bits(kGeluC1) + exact_from_bits(kGeluC3) * (v * v));
    exact_float p = v * exact_sigmoid(w);
    uint limit = exact_select((exact_bits(x) & kExactSignMask) == 0u, exact_bits(x), kExactZero);
    uint bits = exact_select(magnitude > kGeluLimit, limit, exact_bits(exact_flush(p)));
    return exact_from_bits(exact_is_nan(x) ? kExactNan : bits);
}

// exact_tanh, NaN kept.
EXACT_FUNCTION float exact_tanh_or_nan(float x) {
    return exact_from_bits(exact_select(exact_is_nan(x), kExactNan, exact_bits(exact_tanh(x))));
}

// The activation of that number (yolk/internal/abi/activation.h); identity, which moves bits, for any other.
EXACT_FUNCTION float exact_activate(uint kind, float x) {
    if (kind == kActivationRelu) return exact_relu(x);
    if (kind == kActivationGelu) return exact_gelu(x);
    if (kind == kActivationSilu) return exact_silu(x);
    if (kind == kActivationTanh) return exact_tanh_or_nan(x);
    if (kind == kActivationSigmoid) return exact_sigmoid(x);
    return x;
}

EXACT_END
#endif
