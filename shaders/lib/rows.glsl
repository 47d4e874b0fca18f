// SPDX-License-Identifier: Apache-2.0
// Sums and maxima of rows, the same bits whichever way rows are shared out. The order of a sum is fixed: 32 chains,
// chain l adding elements l, l + 32, l + 64, ... from +0 on, then a tree: chain l += chain l + 16, then 8, 4, 2, 1.
// Two ways, two modules:
//   by group       ROW_LANES invocations per row, the tree in shared memory; WORKGROUP_SIZE / ROW_LANES rows. With 32,
//                  one chain each. With more, for rows that are few and long, all of them make elements and pass those
//                  of a sum through shared memory to the first 32, which add them to their chains
//   by invocation  (ROWS_BY_INVOCATION) one invocation per row, its chains in eight vectors; WORKGROUP_SIZE rows; no
//                  barrier and no shared memory in the module. With ROWS_QUADS, functions make four elements at once,
//                  from a multiple of four on; so are the columns
// The including kernel declares WORKGROUP_SIZE and, with a #define ROWS_HAVE_LANES, ROW_LANES (32, 64, 128 or 256; else
// it is 32), begins main() with ROWS_BEGIN, and gives each macro the name of a function of the element's number. Macros stand outside of branches; results go to variables whose names are neither row_...
// nor a letter and a digit, which the macros' own would hide. The functions select by mix, not by `?:` on expressions
// nor `if`: by invocation they are written out 32 times, and SwiftShader's compiler takes minutes over that many
// branches. A row past the end has no elements.
// Class P: absent elements add +0, which changes no chain, for a sum that began at +0 is never -0.
#include "yolk/exact/exact_math.h"

const uint kRowChains = 32u;
const uint kRowNan = 0x7FC00000u;
const uint kRowInfinity = 0x7F800000u;

uint row = 0u;          // linear over the grid
uint row_columns = 0u;  // elements of this row
bool row_is_idle = false;

// Integers in the order of the numbers: -infinity is 0x007FFFFF, +infinity 0xFF800000, every NaN the largest. 0 is
// below all of them.
const uint kRowKeyNan = 0xFFFFFFFFu;
uint row_key(float x) {
    uint bits = floatBitsToUint(x);
    uint key = bits ^ mix(kRowKeyNan, kExactSignMask, (bits & kExactSignMask) == 0u);
    return mix(key, kRowKeyNan, (bits & kExactMagnitudeMask) > kRowInfinity);
}
float row_key_value(uint key) {
    uint bits = key ^ ((key & kExactSignMask) == 0u ? kRowKeyNan : kExactSignMask);
    return uintBitsToFloat(key == kRowKeyNan ? kRowNan : bits);
}

uint row_group() { return gl_WorkGroupID.x + gl_WorkGroupID.y * gl_NumWorkGroups.x; }

#ifdef ROWS_BY_INVOCATION

#define ROWS_BEGIN(row_count, columns)                                                                              \
    row = row_group() * WORKGROUP_SIZE + gl_LocalInvocationID.x;                                                    \
    row_is_idle = row >= (row_count);                                                                               \
    row_columns = row_is_idle ? 0u : columns;
#define ROW_LEADER (!row_is_idle)

// Past the end the last element is read and counts as nothing.
#ifdef ROWS_QUADS
#define ROW_TERMS(k, term) mix(vec4(0.0), term(min(k, row_columns - 4u)), bvec4((k) < row_columns))
#else
#define ROW_TERM(k, term) mix(0.0, term(min(k, row_columns - 1u)), (k) < row_columns)
#define ROW_TERMS(k, term) \
    vec4(ROW_TERM(k, term), ROW_TERM(k + 1u, term), ROW_TERM(k + 2u, term), ROW_TERM(k + 3u, term))
#endif

// result (a float) = sum of term(k). ceil(columns / 32) iterations.
#define ROW_SUM(result, term)                                                                                       \
    {                                                                                                               \
        precise vec4 p0 = vec4(0.0), p1 = p0, p2 = p0, p3 = p0, p4 = p0, p5 = p0, p6 = p0, p7 = p0;                 \
        for (uint k = 0u; k < row_columns; k += kRowChains) {                                                       \
            p0 = p0 + ROW_TERMS(k, term);                                                                           \
            p1 = p1 + ROW_TERMS(k + 4u, term);                                                                      \
            p2 = p2 + ROW_TERMS(k + 8u, term);                                                                      \
            p3 = p3 + ROW_TERMS(k + 12u, term);                                                                     \
            p4 = p4 + ROW_TERMS(k + 16u, term);                                                                     \
            p5 = p5 + ROW_TERMS(k + 20u, term);                                                                     \
            p6 = p6 + ROW_TERMS(k + 24u, term);                                                                     \
            p7 = p7 + ROW_TERMS(k + 28u, term);                                                                     \
        }                                                                                                           \
        p0 = p0 + p4;                                                                                               \
        p1 = p1 + p5;                                                                                               \
        p2 = p2 + p6;                                                                                               \
        p3 = p3 + p7;                                                                                               \
        p0 = p0 + p2;                                                                                               \
        p1 = p1 + p3;                                                                                               \
        p0 = p0 + p1;                                                                                               \
        precise vec2 pair = p0.xy + p0.zw;                                                                          \
        precise float row_total = pair.x + pair.y;                                                                  \
        result = row_total;                                                                                         \
    }

// result (a uint) = the largest key(k). Past the end the last element is taken again. ceil(columns / 32) iterations.
#ifdef ROWS_QUADS
#define ROW_KEYS(k, key) key(min(k, row_columns - 4u))
#else
#define ROW_KEY(k, key) key(min(k, row_columns - 1u))
#define ROW_KEYS(k, key) uvec4(ROW_KEY(k, key), ROW_KEY(k + 1u, key), ROW_KEY(k + 2u, key), ROW_KEY(k + 3u, key))
#endif
#define ROW_MAX(result, key)                                                                                        \
    {                                                                                                               \
        uvec4 m0 = uvec4(0u), m1 = m0;                                                                              \
        for (uint k = 0u; k < row_columns; k += kRowChains) {                                                       \
            m0 = max(max(m0, ROW_KEYS(k, key)), ROW_KEYS(k + 4u, key));                                             \
            m1 = max(max(m1, ROW_KEYS(k + 8u, key)), ROW_KEYS(k + 12u, key));                                       \
            m0 = max(max(m0, ROW_KEYS(k + 16u, key)), ROW_KEYS(k + 20u, key));                                      \
            m1 = max(max(m1, ROW_KEYS(k + 24u, key)), ROW_KEYS(k + 28u, key));                                      \
        }                                                                                                           \
        m0 = max(m0, m1);                                                                                           \
        result = max(max(m0.x, m0.y), max(m0.z, m0.w));                                                             \
    }

// store(k) for every element, or for every fourth. ceil(columns / 8) iterations.
#define ROW_STORE(k, store) if (k < row_columns) store(k);
#ifdef ROWS_QUADS
#define ROW_WRITE(store)                                                                                            \
    for (uint k = 0u; k < row_columns; k += 8u) {                                                                   \
        ROW_STORE(k, store)                                                                                         \
        ROW_STORE(k + 4u, store)                                                                                    \
    }
#else
#define ROW_WRITE(store)                                                                                            \
    for (uint k = 0u; k < row_columns; k += 8u) {                                                                   \
        ROW_STORE(k, store)                                                                                         \
        ROW_STORE(k + 1u, store)                                                                                    \
        ROW_STORE(k + 2u, store)                                                                                    \
        ROW_STORE(k + 3u, store)                                                                                    \
        ROW_STORE(k + 4u, store)                                                                                    \
        ROW_STORE(k + 5u, store)                                                                                    \
        ROW_STORE(k + 6u, store)                                                                                    \
        ROW_STORE(k + 7u, store)                                                                                    \
    }
#endif

#else

#ifndef ROWS_HAVE_LANES
const uint ROW_LANES = kRowChains;
#endif
shared uint row_words[256];
uint row_lane = 0u;
uint row_span = 0u;  // as row_columns, but not 0 past the end: the same for all of a workgroup

#define ROWS_BEGIN(row_count, columns)                                                                              \
    row_lane = gl_LocalInvocationID.x % ROW_LANES;                                                                  \
    row = row_group() * (WORKGROUP_SIZE / ROW_LANES) + gl_LocalInvocationID.x / ROW_LANES;                          \
    row_is_idle = row >= (row_count);                                                                               \
    row_span = columns;                                                                                             \
    row_columns = row_is_idle ? 0u : row_span;
#define ROW_LEADER (row_lane == 0u && !row_is_idle)

void row_add(uint half_size) {
    uint at = gl_LocalInvocationID.x;
    if (row_lane < half_size) {
        precise float sum = uintBitsToFloat(row_words[at]) + uintBitsToFloat(row_words[at + half_size]);
        row_words[at] = floatBitsToUint(sum);
    }
    barrier();
}

void row_take_larger(uint half_size) {
    uint at = gl_LocalInvocationID.x;
    if (row_lane < half_size) row_words[at] = max(row_words[at], row_words[at + half_size]);
    barrier();
}

// What the first of a row's invocations holds, for all of them; then the words are free again.
uint row_first_word() {
    uint word = row_words[gl_LocalInvocationID.x - row_lane];
    barrier();
    return word;
}

float row_tree_sum(float partial) {
    row_words[gl_LocalInvocationID.x] = floatBitsToUint(partial);
    barrier();
    row_add(16u);
    row_add(8u);
    row_add(4u);
    row_add(2u);
    row_add(1u);
    return uintBitsToFloat(row_first_word());
}

uint row_tree_max(uint largest) {
    row_words[gl_LocalInvocationID.x] = largest;
    barrier();
    if (ROW_LANES > 128u) row_take_larger(128u);
    if (ROW_LANES > 64u) row_take_larger(64u);
    if (ROW_LANES > 32u) row_take_larger(32u);
    row_take_larger(16u);
    row_take_larger(8u);
    row_take_larger(4u);
    row_take_larger(2u);
    row_take_larger(1u);
    return row_first_word();
}

// What the row's invocations have put into the words, to the chain of each of the first 32, in order. Written out, for a
// loop would be paid on devices that leave them early.
float row_word(uint place) { return uintBitsToFloat(row_words[gl_LocalInvocationID.x + place * kRowChains]); }
float row_take_words(float chain) {
    precise float sum = chain;
    barrier();
    if (row_lane < kRowChains) {
        sum = sum + row_word(0u);
        sum = sum + row_word(1u);
        if (ROW_LANES > 64u) {
            sum = sum + row_word(2u);
            sum = sum + row_word(3u);
        }
        if (ROW_LANES > 128u) {
            sum = sum + row_word(4u);
            sum = sum + row_word(5u);
            sum = sum + row_word(6u);
            sum = sum + row_word(7u);
        }
    }
    barrier();
    return sum;
}

// As above; ceil(columns / ROW_LANES) iterations each, at most. Four elements at a time, while a row has them: a GPU then
// has four loads under way, where one waits for memory (an H200 reached half of its bandwidth).
#define ROW_SUM(result, term)                                                                                       \
    {                                                                                                               \
        precise float row_chain = 0.0;                                                                              \
        if (ROW_LANES == kRowChains) {                                                                              \
            uint k = row_lane;                                                                                      \
            for (; k + 3u * kRowChains < row_columns; k += 4u * kRowChains) {                                       \
                precise float row_0 = term(k), row_1 = term(k + kRowChains);                                        \
                precise float row_2 = term(k + 2u * kRowChains), row_3 = term(k + 3u * kRowChains);                 \
                row_chain = row_chain + row_0;                                                                      \
                row_chain = row_chain + row_1;                                                                      \
                row_chain = row_chain + row_2;                                                                      \
                row_chain = row_chain + row_3;                                                                      \
            }                                                                                                       \
            for (; k < row_columns; k += kRowChains) row_chain = row_chain + term(k);                               \
        } else {                                                                                                    \
            for (uint k = row_lane; k - row_lane < row_span; k += ROW_LANES) {                                      \
                float row_element = 0.0;                                                                            \
                if (k < row_columns) row_element = term(k);                                                         \
                row_words[gl_LocalInvocationID.x] = floatBitsToUint(row_element);                                   \
                row_chain = row_take_words(row_chain);                                                              \
            }                                                                                                       \
        }                                                                                                           \
        result = row_tree_sum(row_chain);                                                                           \
    }
#define ROW_MAX(result, key)                                                                                        \
    {                                                                                                               \
        uint row_most = 0u;                                                                                         \
        uint k = row_lane;                                                                                          \
        for (; k + 3u * ROW_LANES < row_columns; k += 4u * ROW_LANES) {                                             \
            uint row_0 = key(k), row_1 = key(k + ROW_LANES);                                                        \
            uint row_2 = key(k + 2u * ROW_LANES), row_3 = key(k + 3u * ROW_LANES);                                  \
            row_most = max(max(row_most, max(row_0, row_1)), max(row_2, row_3));                                    \
        }                                                                                                           \
        for (; k < row_columns; k += ROW_LANES) row_most = max(row_most, key(k));                                   \
        result = row_tree_max(row_most);                                                                            \
    }
#define ROW_WRITE(store)                                                                                            \
    {                                                                                                               \
        uint k = row_lane;                                                                                          \
        for (; k + 3u * ROW_LANES < row_columns; k += 4u * ROW_LANES) {                                             \
            store(k);                                                                                               \
            store(k + ROW_LANES);                                                                                   \
            store(k + 2u * ROW_LANES);                                                                              \
            store(k + 3u * ROW_LANES);                                                                              \
        }                                                                                                           \
        for (; k < row_columns; k += ROW_LANES) store(k);                                                           \
    }

#endif
