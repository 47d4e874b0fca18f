// SPDX-License-Identifier: Apache-2.0
// block_inverse, registers: one invocation per block of up to BLOCK_N rows, all of it in registers, all attempts. Every
// index is a constant: instead of moving on to the next pivot, rows and columns are rotated by one after each, so that
// the pivot is always the first. After BLOCK_N rotations everything is where it was. What is eliminated already rotates
// along and is left alone. Then each column of the identity is solved for. Writes the output itself.
// Class P: for each element the order of the other styles. Bindings: yolk/internal/abi/block_inverse.h.
// Loops: attempts around 2 BLOCK_N + n; n^2 where there is no inverse.
#version 460
#extension GL_EXT_scalar_block_layout : require
#extension GL_GOOGLE_include_directive : require
#include "block_common.glsl"
#include "triangles.glsl"

#define JOIN_(a, b) a##b
#define JOIN(a, b) JOIN_(a, b)
#define EACH JOIN(EACH_, BLOCK_N)
#define EACH_BUT_ONE JOIN(EACH_, BLOCK_N_MINUS_1)
#define LOWER_BUT_ONE JOIN(LOWER_, BLOCK_N_MINUS_1)
#define FORWARD JOIN(FORWARD_, BLOCK_N)
#define BACKWARD JOIN(BACKWARD_, BLOCK_N)

const uint N = BLOCK_N;
const uint kLast = BLOCK_N_MINUS_1;
float a[N * (N + 1u) / 2u];  // lower triangle, row by row
#define AT(i, j) a[(i) * ((i) + 1) / 2 + (j)]
float inverse[N];  // of the pivots
int scales[N];
float u[N];
float l[N];
float kept[N];
float x[N];
float norm[N];

// Row r comes in as the last one; what stands left of its first column rotates out again.
#define ROTATE(i, j) AT(i, j) = AT(i + 1, j + 1);
#define ROTATE_SCALE(i) scales[i] = scales[i + 1];
#define CLEAR(i) scales[i] = 0;
#define LOAD(c)                                                                     \
    {                                                                               \
        uint column = uint(max(int(r) + c - int(kLast), 0));                        \
        float off = in_[row + min(column, own)];                                    \
        float scaled = block_operand(off, -exponent - h - scales[c]);               \
        uint inside = uint(r < params.n) & uint(int(r) + c >= int(kLast));          \
        AT(kLast, c) = mix(0.0, scaled, inside != 0u);                             \
    }
void load(uint base, int exponent, float added, float mean) {
    EACH(CLEAR)
    for (uint r = 0u; r < N; ++r) {
        uint own = min(r, params.n - 1u);
        uint row = base + own * params.n;
        float diagonal = in_[row + own];
        int h = block_half_scale(block_damped(diagonal, exponent, added), mean);
        LOWER_BUT_ONE(ROTATE)
        EACH_BUT_ONE(ROTATE_SCALE)
        scales[kLast] = h;
        EACH_BUT_ONE(LOAD)
        AT(kLast, kLast) = mix(1.0, scaled_diagonal(diagonal, exponent, added, h), r < params.n);
    }
}

#define NO_INVERSE(i) inverse[i] = 0.0;
#define PIVOT_COLUMN(c)                                                                  \
    {                                                                                    \
        float own = AT(c + 1, 0);                                                        \
        bool is_left = uint(c + 1) + k < N;                                              \
        u[c + 1] = mix(0.0, block_bounded(own), is_left);                                 \
        precise float quotient = u[c + 1] * pivot_inverse;                               \
        l[c + 1] = block_flush(quotient);                                        \
        kept[c + 1] = mix(own, l[c + 1], is_left);                                       \
    }
#define ELIMINATE(i, j)                                                                  \
    {                                                                                    \
        precise float product = l[i + 1] * u[j + 1];                                     \
        precise float next = AT(i + 1, j + 1) - product;                                 \
        AT(i, j) = next;                                                                 \
    }
#define KEEP(c)                                                                          \
    AT(kLast, c) = kept[c + 1];                                                          \
    inverse[c] = inverse[c + 1];
void factor() {
    EACH(NO_INVERSE)
    for (uint k = 0u; k < N; ++k) {
        float d = AT(0, 0);
        float pivot_inverse = block_pivot_inverse(d, params.tolerance);
        EACH_BUT_ONE(PIVOT_COLUMN)
        LOWER_BUT_ONE(ELIMINATE)
        EACH_BUT_ONE(KEEP)
        AT(kLast, kLast) = d;
        inverse[kLast] = pivot_inverse;
    }
}

#define UNIT(i) x[i] = mix(0.0, 1.0, uint(i) == j);
#define TAKE_FORWARD(i, k)                                                               \
    {                                                                                    \
        precise float product = AT(i, k) * x[k];                                         \
        precise float next = x[i] - product;                                             \
        x[i] = next;                                                                     \
    }
#define DONE_FORWARD(i)                                                                  \
    {                                                                                    \
        x[i] = block_flush(x[i]);                                                \
        precise float square = x[i] * x[i];                                              \
        precise float sum = norm[i] + square;                                            \
        norm[i] = sum;                                                                   \
    }
#define DIVIDE(i)                                                                        \
    {                                                                                    \
        precise float quotient = x[i] * inverse[i];                                      \
        x[i] = block_flush(quotient);                                            \
    }
#define TAKE_BACKWARD(k, i)                                                              \
    {                                                                                    \
        precise float product = AT(k, i) * x[k];                                         \
        precise float next = x[i] - product;                                             \
        x[i] = next;                                                                     \
    }
// Rows of the padding come first and go where the last row will.
#define DONE_BACKWARD(i)                                                                 \
    {                                                                                    \
        x[i] = block_flush(x[i]);                                                        \
        uint bits = block_result(x[i], shift - scales[i]);                               \
        unheld |= uint((bits & kExactMagnitudeMask) >= kBlockInfinity);                  \
        unheld |= uint(uint(i) == j) & uint(bits == kExactZero);                         \
        out_[solution + min(uint(i), params.n - 1u) * params.n + j] = bits;              \
    }
// Column j of the inverse; 0 where fp32 holds it in the block's own scale.
uint solve(uint j, uint solution, int shift) {
    uint unheld = 0u;
    EACH(UNIT)
    FORWARD(TAKE_FORWARD, DONE_FORWARD)
    EACH(DIVIDE)
    BACKWARD(TAKE_BACKWARD, DONE_BACKWARD)
    return unheld;
}

#define NO_NORM(i) norm[i] = 0.0;
// kPivotGood is 0.
#define JUDGE(i)                                                                         \
    {                                                                                    \
        bool is_first = (verdict | uint(uint(i) >= params.n)) == kPivotGood;             \
        verdict = mix(verdict, verdict_on(AT(i, i), norm[i]), is_first);                 \
    }
#define STORE_SCALE(i) state[scales_of(block) + uint(i)] = uint(scales[i]);
void attempt(uint block) {
    uint base = in_of(block);
    uint solution = params.out_offset + block * params.n * params.n;
    int exponent = exponent_of(block);
    float added = added_of(block);
    float mean = mean_of(block);
    load(base, exponent, added, mean);
    factor();
    EACH(NO_NORM)
    uint unheld = 0u;
    for (uint j = 0u; j < params.n; ++j) {
        float diagonal = in_[base + j * params.n + j];
        int h = block_half_scale(block_damped(diagonal, exponent, added), mean);
        unheld |= solve(j, solution, -exponent - h);
    }
    uint verdict = kPivotGood;
    EACH(JUDGE)
    if (verdict == kPivotGood && unheld != 0u) verdict = kPivotUnheld;
    EACH(STORE_SCALE)
    conclude(block, verdict);
}

void main() {
    uint block = linear_invocation();
    if (block >= params.blocks) return;
    uint code = state_of(block) + kStateCode;
    for (uint i = 0u; i <= params.retries; ++i) {
        if (state[code] == kLive) attempt(block);
    }
    if (has_inverse(state[code])) return;
    uint solution = params.out_offset + block * params.n * params.n;
    for (uint e = 0u; e < params.n * params.n; ++e) out_[solution + e] = 0u;
}
