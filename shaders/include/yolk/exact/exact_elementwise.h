// SPDX-License-Identifier: Apache-2.0
// Operations on elements as words, class P by the product rule (docs/adr/0002): operands below 2^-100 are read as zero,
// products below that become zero, sums are multiples of 2^-123. What is not a number comes out as kExactNan. Results
// of these that overflow are the device's (docs/kernels/elementwise.md). Quotients, roots, comparisons and what moves
// bits are in exact_arithmetic.h.
#ifndef YOLK_EXACT_ELEMENTWISE_H
#define YOLK_EXACT_ELEMENTWISE_H
#include "yolk/exact/exact_arithmetic.h"
#include "yolk/exact/exact_log.h"
EXACT_BEGIN

// The bits of a result, or kExactNan where it or an operand is not a number.
EXACT_FUNCTION uint exact_number_bits(float result, bool is_nan) {
    return exact_select(exact_either(is_nan, exact_is_nan(result)), kExactNan, exact_bits(result));
}

EXACT_FUNCTION uint exact_sum_word(uint x, uint y) {
    exact_float sum = exact_flush(exact_from_bits(x)) + exact_flush(exact_from_bits(y));
    return exact_number_bits(sum, exact_either(exact_is_nan_word(x), exact_is_nan_word(y)));
}

EXACT_FUNCTION uint exact_difference_word(uint x, uint y) {
    exact_float difference = exact_flush(exact_from_bits(x)) - exact_flush(exact_from_bits(y));
    return exact_number_bits(difference, exact_either(exact_is_nan_word(x), exact_is_nan_word(y)));
}

EXACT_FUNCTION uint exact_product_word(uint x, uint y) {
    exact_float product = exact_flush(exact_from_bits(x)) * exact_flush(exact_from_bits(y));
    return exact_number_bits(exact_flush(product), exact_either(exact_is_nan_word(x), exact_is_nan_word(y)));
}

EXACT_FUNCTION uint exact_exp_word(uint x) {
    return exact_number_bits(exact_exp(exact_from_bits(x)), exact_is_nan_word(x));
}

EXACT_FUNCTION uint exact_log_word(uint x) {
    return exact_number_bits(exact_log(exact_from_bits(x)), exact_is_nan_word(x));
}

EXACT_END
#endif
