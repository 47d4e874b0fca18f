// SPDX-License-Identifier: Apache-2.0
// row_program: what programs of operations along rows are made of: up to four sums, maxima or minima in turn, with
// operations on elements before, between and behind them. yolk/internal/shaders/row_module.hpp takes this module,
// writes other bodies for main and the functions program_... and binds as many inputs as the program has; functions
// that no body calls are left out. As it stands, it calls all of them. Bindings, constants: yolk/internal/abi/row_program.h; the
// order of the sums, and how rows are shared out: rows.glsl. No scratch, no subgroup assumption; shared memory and
// barriers by group only.
// Exactness: class P; the steps are functions from words to words (yolk/exact/exact_operations.h). What is summed is to
// be 0 or at least 2^-123, as all results of operations on elements are; a sum that is no number is kExactNan, and so is
// the maximum of a row that holds one. Maxima and minima are exact for every input; -0 is below 0. Overflows are the
// device's.
// Loops: for each reduction ceil(columns / 32) iterations (more lanes: rows.glsl), for argmax twice as many; where
// elements are written, a ROW_WRITE.
#version 460
#extension GL_EXT_scalar_block_layout : require
#extension GL_GOOGLE_include_directive : require
#include "yolk/internal/abi/row_program.h"
#include "yolk/exact/exact_operations.h"

layout(local_size_x_id = kSpecWorkgroupSize) in;
layout(constant_id = kSpecWorkgroupSize) const uint WORKGROUP_SIZE = 32;
layout(constant_id = kSpecRowLanes) const uint ROW_LANES = 32;

#ifdef ROWS_QUADS
#define Words uvec4
#define Numbers vec4
#define FIRST(words) words.x
const uint kWidth = 4u;
#else
#define Words uint
#define Numbers float
#define FIRST(words) words
const uint kWidth = 1u;
#endif

#ifdef ROWS_TEXEL
layout(set = 0, binding = kBindIn) uniform samplerBuffer in_;
#ifdef ROWS_QUADS
#define IN_AT(index) floatBitsToUint(texelFetch(in_, int(index)))
#else
#define IN_AT(index) floatBitsToUint(texelFetch(in_, int(index)).x)
#endif
#else
layout(set = 0, binding = kBindIn, scalar) readonly restrict buffer In { Words values[]; } in_;
#define IN_AT(index) in_.values[index]
#endif
// One buffer: results of elements, or of rows. No program has both.
layout(set = 0, binding = kBindOut, scalar) writeonly restrict buffer Out { Words values[]; } out_;
layout(set = 0, binding = kBindOut, scalar) writeonly restrict buffer RowsOut { uint values[]; } rows_out_;
layout(push_constant, scalar) uniform PushConstants { Params params; };

#define ROWS_HAVE_LANES
#include "rows.glsl"

uint row_first = 0u;  // the row's first element, of all elements

uint program_quotient(uint n, uint factor, uint shift) {
    uint upper, lower;
    umulExtended(n << 2, factor, upper, lower);
    return upper >> (shift & 31u);
}

// What is the same for all of a row; `element` is its first one.
uint row_begin_ = 0u;
void program_begin(uint element) {
    row_begin_ = program_quotient(element, params.inner_factor[0], params.inner_shift[0]) * params.size[0];
}
// Element k of what is reduced first, and so on; of quads the four from k on.
Words program_term_0(uint k) {
    uint x = FIRST(IN_AT((row_begin_ + k * params.row_stride[0]) / kWidth));
    uint y = elementwise_copy(elementwise_relu(elementwise_gelu(elementwise_silu(x))));
    y = elementwise_tanh(elementwise_sigmoid(elementwise_exp(elementwise_log(y))));
    y = elementwise_negate(elementwise_absolute(elementwise_floor(elementwise_round(y))));
    y = elementwise_sqrt(elementwise_rsqrt(elementwise_sin(elementwise_cos(y))));
    y = elementwise_add(x, elementwise_subtract(x, elementwise_multiply(x, elementwise_maximum(x, y))));
    y = elementwise_minimum(x, elementwise_divide(x, elementwise_power(x, y)));
    y = elementwise_less_than(x, elementwise_less_or_equal(x, y));
    y = elementwise_greater_than(x, elementwise_greater_or_equal(x, y));
    return Words(elementwise_where(x, elementwise_equal_to(x, y), elementwise_not_equal_to(x, y)));
}
Words program_term_1(uint k) { return Words(row_operand(row_result(row_exponential(k)))); }
Words program_term_2(uint k) { return Words(row_reciprocal(row_inverse_sqrt(k))); }
Words program_term_3(uint k) { return Words(row_difference(k, row_product(k, row_total(k, k)))); }
// What follows of the first reduction for all of the row, and so on.
void program_end_0(uint word) { row_begin_ = word; }
void program_end_1(uint word) { row_begin_ = word; }
void program_end_2(uint word) { row_begin_ = word; }
void program_end_3(uint word) { row_begin_ = word; }
// The result: of element k, or four from k on, or of the row.
Words program_element(uint k) { return Words(row_begin_ + k); }
uint program_result() { return row_begin_; }

Numbers term_0(uint k) { return uintBitsToFloat(program_term_0(k)); }
Numbers term_1(uint k) { return uintBitsToFloat(program_term_1(k)); }
Numbers term_2(uint k) { return uintBitsToFloat(program_term_2(k)); }
Numbers term_3(uint k) { return uintBitsToFloat(program_term_3(k)); }

// A minimum is the largest of the keys turned round; NaN stays above all.
uint turned(uint key) { return mix(~key, kRowKeyNan, key == kRowKeyNan); }
uint largest = 0u;
uint place_of(uint k, uint key) { return mix(0u, ~k, key == largest); }  // the larger, the earlier
uint word_of(uint key) { return floatBitsToUint(row_key_value(key)); }
#ifdef ROWS_QUADS
uvec4 keys_of(vec4 x) { return uvec4(row_key(x.x), row_key(x.y), row_key(x.z), row_key(x.w)); }
uvec4 all_turned(uvec4 keys) { return uvec4(turned(keys.x), turned(keys.y), turned(keys.z), turned(keys.w)); }
uvec4 places_of(uint k, uvec4 keys) {
    return uvec4(place_of(k, keys.x), place_of(k + 1u, keys.y), place_of(k + 2u, keys.z), place_of(k + 3u, keys.w));
}
#else
uint keys_of(float x) { return row_key(x); }
uint all_turned(uint key) { return turned(key); }
uint places_of(uint k, uint key) { return place_of(k, key); }
#endif

// What a program's reductions are: for each of its four places all that there are.
#define REDUCTIONS(term, end, key, least_key, place, sum, most, least, argmost)    \
    Words key(uint k) { return keys_of(term(k)); }                                 \
    Words least_key(uint k) { return all_turned(key(k)); }                         \
    Words place(uint k) { return places_of(k, key(k)); }                           \
    void sum() {                                                                   \
        float total;                                                               \
        ROW_SUM(total, term)                                                       \
        end(exact_number_bits(total, false));                                      \
    }                                                                              \
    void most() {                                                                  \
        ROW_MAX(largest, key)                                                      \
        end(word_of(largest));                                                     \
    }                                                                              \
    void least() {                                                                 \
        ROW_MAX(largest, least_key)                                                \
        end(word_of(turned(largest)));                                             \
    }                                                                              \
    void argmost() {                                                               \
        ROW_MAX(largest, key)                                                      \
        uint first;                                                                \
        ROW_MAX(first, place)                                                      \
        end(~first);                                                               \
    }
REDUCTIONS(term_0, program_end_0, key_0, least_key_0, place_0, row_sum_0, row_max_0, row_min_0, row_argmax_0)
REDUCTIONS(term_1, program_end_1, key_1, least_key_1, place_1, row_sum_1, row_max_1, row_min_1, row_argmax_1)
REDUCTIONS(term_2, program_end_2, key_2, least_key_2, place_2, row_sum_2, row_max_2, row_min_2, row_argmax_2)
REDUCTIONS(term_3, program_end_3, key_3, least_key_3, place_3, row_sum_3, row_max_3, row_min_3, row_argmax_3)

void begin() {
    ROWS_BEGIN(params.row_count, params.columns)
    uint at = row_is_idle ? 0u : row;
    row_first = at / params.inner * params.columns * params.inner + at % params.inner;
    program_begin(row_first);
}
void store(uint k) { out_.values[(row_first + k * params.inner) / kWidth] = program_element(k); }
void write_elements() { ROW_WRITE(store) }
void write_row() {
    if (ROW_LEADER) rows_out_.values[row] = program_result();
}

void main() {
    begin();
    row_sum_0();
    row_max_0();
    row_min_0();
    row_argmax_0();
    row_sum_1();
    row_max_1();
    row_min_1();
    row_argmax_1();
    row_sum_2();
    row_max_2();
    row_min_2();
    row_argmax_2();
    row_sum_3();
    row_max_3();
    row_min_3();
    row_argmax_3();
    write_elements();
    write_row();
}
