// SPDX-License-Identifier: Apache-2.0
// The operations of elementwise by their numbers (yolk/internal/abi/elementwise.h), for the kernel and its twin. With `operation`
// a specialization constant, one branch remains. The long ones are functions, and modules, of their own: a driver compiles
// what a branch does not take before it drops it (SwiftShader took 1.6 times as long for a sum with all in one).
#ifndef YOLK_EXACT_OPERATIONS_H
#define YOLK_EXACT_OPERATIONS_H
#include "yolk/internal/abi/elementwise.h"
#include "yolk/exact/exact_elementwise.h"
#include "yolk/exact/exact_power.h"
#include "yolk/exact/exact_sine.h"
EXACT_BEGIN

#ifdef __cplusplus
#define EXACT_OPERATION(name) abi::elementwise::name
#else
#define EXACT_OPERATION(name) name
#endif

// Of a number that no operation of one operand has, what the activation of that number gives. `scale` and `shift`: of
// kScaleShift.
EXACT_FUNCTION uint exact_unary_word(uint operation, uint x, float scale, float shift) {
    switch (operation) {
        case EXACT_OPERATION(kExp): return exact_exp_word(x);
        case EXACT_OPERATION(kLog): return exact_log_word(x);
        case EXACT_OPERATION(kNegate): return x ^ kExactSignMask;
        case EXACT_OPERATION(kScaleShift): return exact_scale_shift_word(x, scale, shift);
        case EXACT_OPERATION(kAbsolute): return exact_absolute_word(x);
        case EXACT_OPERATION(kFloor): return exact_floor_word(x);
        case EXACT_OPERATION(kRound): return exact_round_word(x);
        default: return exact_bits(exact_activate(operation, exact_from_bits(x)));
    }
}

EXACT_FUNCTION uint exact_long_unary_word(uint operation, uint x) {
    switch (operation) {
        case EXACT_OPERATION(kSqrt): return exact_sqrt_word(x);
        case EXACT_OPERATION(kRsqrt): return exact_rsqrt_word(x);
        default: return exact_sine_word(x, operation == EXACT_OPERATION(kCos) ? 1u : 0u);
    }
}

EXACT_FUNCTION uint exact_binary_word(uint operation, uint x, uint y) {
    switch (operation) {
        case EXACT_OPERATION(kAdd): return exact_sum_word(x, y);
        case EXACT_OPERATION(kSubtract): return exact_difference_word(x, y);
        case EXACT_OPERATION(kMultiply): return exact_product_word(x, y);
        case EXACT_OPERATION(kMaximum): return exact_maximum_word(x, y);
        case EXACT_OPERATION(kMinimum): return exact_minimum_word(x, y);
        case EXACT_OPERATION(kLessThan): return exact_one_if(exact_is_less(x, y));
        case EXACT_OPERATION(kLessOrEqual): return exact_one_if(exact_is_less(x, y) || exact_is_equal(x, y));
        case EXACT_OPERATION(kGreaterThan): return exact_one_if(exact_is_less(y, x));
        case EXACT_OPERATION(kGreaterOrEqual): return exact_one_if(exact_is_less(y, x) || exact_is_equal(x, y));
        case EXACT_OPERATION(kEqualTo): return exact_one_if(exact_is_equal(x, y));
        default: return exact_one_if(!exact_is_equal(x, y));
    }
}

EXACT_FUNCTION uint exact_long_binary_word(uint operation, uint x, uint y) {
    return operation == EXACT_OPERATION(kDivide) ? exact_quotient_word(x, y) : exact_power_word(x, y);
}

EXACT_END
#endif
