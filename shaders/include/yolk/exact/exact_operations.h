// SPDX-License-Identifier: Apache-2.0
// The operations of elementwise, from words to words: what its kernels are made of (docs/adr/0061), by these names, and
// what their twin calls. No function has a branch: SwiftShader's compiler takes twice as long for each one in a loop.
#ifndef YOLK_EXACT_OPERATIONS_H
#define YOLK_EXACT_OPERATIONS_H
#include "yolk/exact/exact_elementwise.h"
#include "yolk/exact/exact_power.h"
#include "yolk/exact/exact_sine.h"
EXACT_BEGIN

EXACT_FUNCTION uint elementwise_copy(uint x) { return x; }
EXACT_FUNCTION uint elementwise_relu(uint x) { return exact_bits(exact_relu(exact_from_bits(x))); }
EXACT_FUNCTION uint elementwise_gelu(uint x) { return exact_bits(exact_gelu(exact_from_bits(x))); }
EXACT_FUNCTION uint elementwise_silu(uint x) { return exact_bits(exact_silu(exact_from_bits(x))); }
EXACT_FUNCTION uint elementwise_tanh(uint x) { return exact_bits(exact_tanh_or_nan(exact_from_bits(x))); }
EXACT_FUNCTION uint elementwise_sigmoid(uint x) { return exact_bits(exact_sigmoid(exact_from_bits(x))); }
EXACT_FUNCTION uint elementwise_exp(uint x) { return exact_exp_word(x); }
EXACT_FUNCTION uint elementwise_log(uint x) { return exact_log_word(x); }
EXACT_FUNCTION uint elementwise_negate(uint x) { return x ^ kExactSignMask; }
EXACT_FUNCTION uint elementwise_add(uint x, uint y) { return exact_sum_word(x, y); }
EXACT_FUNCTION uint elementwise_subtract(uint x, uint y) { return exact_difference_word(x, y); }
EXACT_FUNCTION uint elementwise_multiply(uint x, uint y) { return exact_product_word(x, y); }
EXACT_FUNCTION uint elementwise_maximum(uint x, uint y) { return exact_maximum_word(x, y); }
EXACT_FUNCTION uint elementwise_absolute(uint x) { return exact_absolute_word(x); }
EXACT_FUNCTION uint elementwise_sqrt(uint x) { return exact_sqrt_word(x); }
EXACT_FUNCTION uint elementwise_rsqrt(uint x) { return exact_rsqrt_word(x); }
EXACT_FUNCTION uint elementwise_sin(uint x) { return exact_sine_word(x, 0u); }
EXACT_FUNCTION uint elementwise_cos(uint x) { return exact_sine_word(x, 1u); }
EXACT_FUNCTION uint elementwise_floor(uint x) { return exact_floor_word(x); }
EXACT_FUNCTION uint elementwise_round(uint x) { return exact_round_word(x); }
EXACT_FUNCTION uint elementwise_minimum(uint x, uint y) { return exact_minimum_word(x, y); }
EXACT_FUNCTION uint elementwise_divide(uint x, uint y) { return exact_quotient_word(x, y); }
EXACT_FUNCTION uint elementwise_power(uint x, uint y) { return exact_power_word(x, y); }
EXACT_FUNCTION uint elementwise_less_than(uint x, uint y) { return exact_one_if(exact_is_less(x, y)); }
EXACT_FUNCTION uint elementwise_less_or_equal(uint x, uint y) {
    return exact_one_if(exact_either(exact_is_less(x, y), exact_is_equal(x, y)));
}
EXACT_FUNCTION uint elementwise_greater_than(uint x, uint y) { return exact_one_if(exact_is_less(y, x)); }
EXACT_FUNCTION uint elementwise_greater_or_equal(uint x, uint y) {
    return exact_one_if(exact_either(exact_is_less(y, x), exact_is_equal(x, y)));
}
EXACT_FUNCTION uint elementwise_equal_to(uint x, uint y) { return exact_one_if(exact_is_equal(x, y)); }
EXACT_FUNCTION uint elementwise_not_equal_to(uint x, uint y) { return exact_one_if(!exact_is_equal(x, y)); }
EXACT_FUNCTION uint elementwise_where(uint condition, uint first, uint second) {
    return (condition & 0x7FFFFFFFu) != 0u ? first : second;
}

// Steps that programs of rows have besides (row_program.hpp), for operands of which their author knows what the functions
// above would look for: no result is denormal, and what is not a number meets row_result, or a reduction, in the end.
EXACT_FUNCTION uint row_operand(uint x) { return exact_bits(exact_flush_operand(exact_from_bits(x))); }
EXACT_FUNCTION uint row_result(uint x) { return exact_number_bits(exact_flush(exact_from_bits(x)), false); }
EXACT_FUNCTION uint row_exponential(uint x) { return exact_bits(exact_exp(exact_from_bits(x))); }
EXACT_FUNCTION uint row_reciprocal(uint x) { return exact_bits(exact_reciprocal(exact_from_bits(x))); }
EXACT_CONST uint kExactLargestRadicand = 0x71800000u;  // 2^100
EXACT_FUNCTION uint row_inverse_sqrt(uint x) {
    uint root = exact_bits(exact_reciprocal(exact_sqrt(exact_from_bits(x))));
    return exact_select((x & kExactMagnitudeMask) > kExactLargestRadicand, kExactNan, root);
}
EXACT_FUNCTION uint row_difference(uint x, uint y) {
    exact_float difference = exact_from_bits(x) - exact_from_bits(y);
    return exact_bits(difference);
}
EXACT_FUNCTION uint row_product(uint x, uint y) {
    exact_float product = exact_from_bits(x) * exact_from_bits(y);
    return exact_bits(product);
}
EXACT_FUNCTION uint row_total(uint x, uint y) {
    exact_float total = exact_from_bits(x) + exact_from_bits(y);
    return exact_bits(total);
}

EXACT_END
#endif
