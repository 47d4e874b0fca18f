// SPDX-License-Identifier: Apache-2.0
// The main loop of matmul_staged and of perturbed_linear's staged form: a workgroup brings BLOCK_M x BLOCK_K of a and
// BLOCK_K x BLOCK_N of b into shared memory, then every invocation adds to its TILE_M x TILE_N sums in registers. The
// including shader has named `params`, says where matrices begin (matmul_batch.glsl), and has defined MATMUL_STAGED, by
// which a group of four columns are neighbours.
// While a block is multiplied, the next one is on its way into registers. Where there is room it then goes into the
// other half of the shared memory: one barrier per block instead of two (kTwoStagesBytesPerLane).
// Rows and columns past the last are read as the last one and not stored; k past the last are zeros in both.
#ifndef YOLK_MATMUL_STAGING_GLSL
#define YOLK_MATMUL_STAGING_GLSL
#include "yolk/internal/abi/matmul_staging.h"
#include "matmul_common.glsl"
#include "matmul_operands.glsl"

vec4 sums[TILE_M * GROUPS_N];  // [row, group of four columns]

// In vectors of four rows or columns, so that they are one read of 128 bits. (Of floats, drivers see no alignment in an
// address that depends on the stage: RADV read pairs of 32 bits.)
const uint A_STEP = (BLOCK_M + kStagedPadding) / 4u;
const uint B_STEP = (BLOCK_N + kStagedPadding) / 4u;
const uint STAGE = BLOCK_K * (A_STEP + B_STEP);
const bool TWO_STAGES = 32u * STAGE <= kTwoStagesBytesPerLane * WORKGROUP_SIZE;
const uint STAGED_VECTORS = TWO_STAGES ? 2u * STAGE : STAGE;
shared vec4 staged[STAGED_VECTORS];  // [stage, of a [k, row / 4] then of b [k, column / 4]]

// What an invocation stages: `TIMES` portions of `WIDTH` elements, one read each, along k or across it. All sizes are
// powers of two, so the place of portion t is that of portion 0 and a constant.
const uint WIDTH_A = VECTOR_A == 1u ? 4u : 1u;
const uint WIDTH_B = VECTOR_B == 1u ? 4u : 1u;
const uint TIMES_A = BLOCK_M * BLOCK_K / WIDTH_A / WORKGROUP_SIZE;
const uint TIMES_B = BLOCK_N * BLOCK_K / WIDTH_B / WORKGROUP_SIZE;
const bool A_ALONG_K = TRANSPOSE_A == 0u;
const bool B_ALONG_K = TRANSPOSE_B == 1u;

uint a_from[TIMES_A];  // portion t's first element at k = 0, in portions of WIDTH_A
uint b_from[TIMES_B];
vec4 a_next[TIMES_A];
vec4 b_next[TIMES_B];

// Element e of a block whose lines (rows of a, columns of b) are `block`: its step of k, and its line.
uint step_in_block(uint e, bool along_k, uint block) { return along_k ? e % BLOCK_K : e / block; }
uint line_in_block(uint e, bool along_k, uint block) { return along_k ? e / BLOCK_K : e % block; }

// Where portion t of an operand begins, from its matrix's base on. Whole portions lie inside where lines run across k.
uint portion_start(uint t, uint width, bool along_k, uint block, uint first_line, uint lines, uint stride) {
    uint own = gl_LocalInvocationID.x * width;
    uint later = t * WORKGROUP_SIZE * width;
    uint own_line = first_line + line_in_block(own, along_k, block);
    uint later_line = line_in_block(later, along_k, block);
    uint own_step = step_in_block(own, along_k, block);
    uint later_step = step_in_block(later, along_k, block);
    if (RAGGED == 1u) {
        uint line = min(own_line + later_line, along_k ? lines - 1u : (lines - 1u) & ~(width - 1u));
        return along_k ? line * stride + own_step + later_step : (own_step + later_step) * stride + line;
    }
    uint start = along_k ? own_line * stride + own_step : own_step * stride + own_line;
    return start + (along_k ? later_line * stride + later_step : later_step * stride + later_line);
}

void locate_portions(TilePlace place) {
    uint a_base = a_base_of(place.batch);
    uint b_base = b_base_of(place.batch);
    [[unroll]] for (uint t = 0u; t < TIMES_A; ++t) {
        a_from[t] = (a_base + portion_start(t, WIDTH_A, A_ALONG_K, BLOCK_M, place.block_row, params.m,
                                            params.a_stride)) / WIDTH_A;
    }
    [[unroll]] for (uint t = 0u; t < TIMES_B; ++t) {
        b_from[t] = (b_base + portion_start(t, WIDTH_B, B_ALONG_K, BLOCK_N, place.block_column, params.n,
                                            params.b_stride)) / WIDTH_B;
    }
}

// How many of the k from portion t's first on are before end_k.
uint steps_left(uint t, uint width, bool along_k, uint block, uint k, uint end_k) {
    uint e = (t * WORKGROUP_SIZE + gl_LocalInvocationID.x) * width;
    return end_k - min(k + step_in_block(e, along_k, block), end_k);
}

// How far a portion that begins at or past end_k has to step back, in portions. Nothing where k has no rest.
uint steps_back(uint t, uint width, bool along_k, uint block, uint k, uint end_k, uint stride) {
    if (WHOLE_K == 1u) return 0u;
    uint e = (t * WORKGROUP_SIZE + gl_LocalInvocationID.x) * width;
    uint wanted = k + step_in_block(e, along_k, block);
    uint most = along_k ? (end_k - 1u) & ~(width - 1u) : end_k - 1u;
    uint back = wanted - min(wanted, most);
    return (along_k ? back : back * stride) / width;
}

// The elements of a portion that k has; zeros for the others.
vec4 with_zeros(vec4 four, uint left, bool along_k) {
    if (WHOLE_K == 1u) return four;
    uvec4 at = along_k ? uvec4(0u, 1u, 2u, 3u) : uvec4(0u);
    return mix(vec4(0.0), four, lessThan(at, uvec4(left)));
}

// From k on, into registers.
void fetch_block(uint k, uint end_k) {
    uint a_ahead = (A_ALONG_K ? k : k * params.a_stride) / WIDTH_A;
    [[unroll]] for (uint t = 0u; t < TIMES_A; ++t) {
        uint at = a_from[t] + a_ahead - steps_back(t, WIDTH_A, A_ALONG_K, BLOCK_M, k, end_k, params.a_stride);
        a_next[t] = VECTOR_A == 1u ? A4_AT(at) : vec4(A_AT(at));
    }
    uint b_ahead = (B_ALONG_K ? k : k * params.b_stride) / WIDTH_B;
    [[unroll]] for (uint t = 0u; t < TIMES_B; ++t) {
        uint at = b_from[t] + b_ahead - steps_back(t, WIDTH_B, B_ALONG_K, BLOCK_N, k, end_k, params.b_stride);
        b_next[t] = VECTOR_B == 1u ? B4_AT(at) : vec4(B_AT(at));
    }
}

// Portion t of an operand into its part of a stage, which begins at `part` and has `step` vectors for each k. Lines of
// later portions are whole passes on, so quotients and remainders by four add up.
void stage_portion(uint part, uint t, uint width, bool along_k, uint block, uint step, vec4 four) {
    uint own = gl_LocalInvocationID.x * width;
    uint later = t * WORKGROUP_SIZE * width;
    uint line = line_in_block(own, along_k, block);
    uint later_line = line_in_block(later, along_k, block);
    uint to = part + step_in_block(own, along_k, block) * step + line / 4u +
              (step_in_block(later, along_k, block) * step + later_line / 4u);
    if (width == 4u && !along_k) {
        staged[to] = four;
        return;
    }
    [[unroll]] for (uint c = 0u; c < width; ++c) staged[to + c * step][line % 4u + later_line % 4u] = four[c];
}

// What was fetched from k on, into the shared memory from `stage` on.
void stage_block(uint stage, uint k, uint end_k) {
    [[unroll]] for (uint t = 0u; t < TIMES_A; ++t) {
        uint left = steps_left(t, WIDTH_A, A_ALONG_K, BLOCK_M, k, end_k);
        stage_portion(stage, t, WIDTH_A, A_ALONG_K, BLOCK_M, A_STEP, with_zeros(operand(a_next[t]), left, A_ALONG_K));
    }
    [[unroll]] for (uint t = 0u; t < TIMES_B; ++t) {
        uint left = steps_left(t, WIDTH_B, B_ALONG_K, BLOCK_N, k, end_k);
        stage_portion(stage + BLOCK_K * A_STEP, t, WIDTH_B, B_ALONG_K, BLOCK_N, B_STEP,
                      with_zeros(operand(b_next[t]), left, B_ALONG_K));
    }
}

void multiply(uint sum, float a, vec4 b) {
#ifdef MATMUL_EXACT
    precise vec4 product = a * b;
    precise vec4 next = sums[sum] + product;
    sums[sum] = next;
#else
    sums[sum] = fma(vec4(a), b, sums[sum]);
#endif
}

// Step q of the block in `stage`.
void add_staged_step(TilePlace place, uint stage, uint q) {
    float a[TILE_M];
    vec4 b[GROUPS_N];
    if (TILE_M % 4u == 0u) {
        [[unroll]] for (uint i = 0u; i < TILE_M / 4u; ++i) {
            vec4 four = staged[stage + place.lane_m * (TILE_M / 4u) + (q * A_STEP + i)];
            [[unroll]] for (uint c = 0u; c < 4u; ++c) a[4u * i + c] = four[c];
        }
    } else {
        [[unroll]] for (uint i = 0u; i < TILE_M; ++i) {
            uint row = place.lane_m * TILE_M + i;
            a[i] = staged[stage + q * A_STEP + row / 4u][row % 4u];
        }
    }
    [[unroll]] for (uint j = 0u; j < GROUPS_N; ++j)
        b[j] = staged[stage + place.lane_n + (BLOCK_K * A_STEP + q * B_STEP + j * LANES_N)];
    [[unroll]] for (uint i = 0u; i < TILE_M; ++i) {
        [[unroll]] for (uint j = 0u; j < GROUPS_N; ++j) multiply(i * GROUPS_N + j, a[i], b[j]);
    }
}

// k in [first, end), which is not empty, in ascending order for each sum. Called by all invocations of a workgroup.
void add_staged_products(TilePlace place, uint first, uint end) {
    locate_portions(place);
    fetch_block(first, end);
    stage_block(0u, first, end);
    uint stage = 0u;
    for (uint k = first; k < end; k += BLOCK_K) {
        uint next = k + BLOCK_K;
        bool more = next < end;
        barrier();
        if (more) fetch_block(next, end);
        [[unroll]] for (uint q = 0u; q < BLOCK_K; ++q) add_staged_step(place, stage, q);
        if (TWO_STAGES) stage = STAGE - stage;
        else barrier();
        if (more) stage_block(stage, next, end);
    }
}

#endif
