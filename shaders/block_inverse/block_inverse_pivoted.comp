// SPDX-License-Identifier: Apache-2.0
// block_inverse, symmetric: sweeps of the lower triangle in place, one workgroup per block, steps [first, end). The
// pivot of a step is the largest element that is left: a diagonal one unless an off-diagonal one is larger by 1.5616,
// whose 2 x 2 block is the pivot then (Bunch, Parlett 1971). Sweeping pivot E with columns U: rest -= U E^-1 U^T,
// columns = U E^-1, pivot = -E^-1; after all pivots the triangle is minus the inverse. No row is moved. Class P: for
// each element the pivots in their order. Bindings: yolk/internal/abi/block_inverse.h. Shared: WORKGROUP_SIZE pairs of
// candidates. Loops: (end - first) steps around ceil(n / WORKGROUP_SIZE) rows around n, twice, n / WORKGROUP_SIZE and
// WORKGROUP_SIZE.
#version 460
#extension GL_EXT_scalar_block_layout : require
#extension GL_GOOGLE_include_directive : require
#define BLOCK_WORK coherent
#define BLOCK_STATE coherent
#include "block_common.glsl"

const uint kGrowth = 0x3F23F07Bu;  // (1 + sqrt(17)) / 8
shared uint found_bits[2u * WORKGROUP_SIZE];  // the largest magnitude on the diagonal, and below it
shared uint found_at[2u * WORKGROUP_SIZE];
shared uint verdict;
shared uint swept;

uint matrix;
uint stride;
uint marks;  // of rows, in the state: 1 where the row has been swept

uint place(uint i, uint j) { return matrix + max(i, j) * stride + min(i, j); }
// Column s of U, and of U E^-1, right of the matrix.
uint u_of(uint s, uint i) { return matrix + s * stride + params.padded_n + i; }
uint f_of(uint s, uint i) { return matrix + (2u + s) * stride + params.padded_n + i; }

// Largest first, then lowest place.
bool is_better(uint bits, uint at, uint than_bits, uint than_at) {
    return bits > than_bits || (bits == than_bits && at < than_at);
}

uint magnitude_of(uint i, uint j) { return floatBitsToUint(work[matrix + i * stride + j]) & kExactMagnitudeMask; }

void find_candidates() {
    uint lane = gl_LocalInvocationID.x;
    // On the diagonal, below it: not an array, whose index some compilers of GPUs would send to memory.
    uint bits = 0u, bits_below = 0u;
    uint at = 0xFFFFFFFFu, at_below = 0xFFFFFFFFu;
    for (uint i = lane; i < params.n; i += WORKGROUP_SIZE) {
        if (state[marks + i] != 0u) continue;
        for (uint j = 0u; j < i; ++j) {
            if (state[marks + j] != 0u) continue;
            uint own = magnitude_of(i, j);
            uint own_at = i * params.n + j;
            if (is_better(own, own_at, bits_below, at_below)) {
                bits_below = own;
                at_below = own_at;
            }
        }
        uint own = magnitude_of(i, i);
        uint own_at = i * params.n + i;
        if (is_better(own, own_at, bits, at)) {
            bits = own;
            at = own_at;
        }
    }
    found_bits[lane] = bits;
    found_at[lane] = at;
    found_bits[WORKGROUP_SIZE + lane] = bits_below;
    found_at[WORKGROUP_SIZE + lane] = at_below;
}

uint best_lane(uint kind) {
    uint best = kind * WORKGROUP_SIZE;
    for (uint other = best + 1u; other < (kind + 1u) * WORKGROUP_SIZE; ++other) {
        if (is_better(found_bits[other], found_at[other], found_bits[best], found_at[best])) best = other;
    }
    return best;
}

// Columns U and U E^-1 of pivot rows p (and q, where they differ). `first`, `cross`, `last`: E^-1.
void take_columns(uint p, uint q, float first, float cross, float last) {
    for (uint i = gl_LocalInvocationID.x; i < params.n; i += WORKGROUP_SIZE) {
        bool is_pivot = i == p || i == q;
        float up = is_pivot ? 0.0 : exact_flush_operand(work[place(i, p)]);
        float uq = is_pivot || p == q ? 0.0 : exact_flush_operand(work[place(i, q)]);
        precise float fp = up * first + uq * cross;
        precise float fq = up * cross + uq * last;
        work[u_of(0u, i)] = up;
        work[u_of(1u, i)] = uq;
        work[f_of(0u, i)] = exact_flush_operand(fp);
        work[f_of(1u, i)] = exact_flush_operand(fq);
    }
}

void sweep(uint p, uint q, float first, float cross, float last) {
    for (uint i = gl_LocalInvocationID.x; i < params.n; i += WORKGROUP_SIZE) {
        float fp = work[f_of(0u, i)];
        float fq = work[f_of(1u, i)];
        for (uint j = 0u; j <= i; ++j) {
            uint at = matrix + i * stride + j;
            bool row_is_pivot = i == p || i == q;
            bool column_is_pivot = j == p || j == q;
            precise float swept_once = work[at] - fp * work[u_of(0u, j)];
            precise float swept_element = swept_once - fq * work[u_of(1u, j)];
            float from_row = work[f_of(i == p ? 0u : 1u, j)];
            float element = row_is_pivot ? from_row : (column_is_pivot ? (j == p ? fp : fq) : swept_element);
            if (row_is_pivot && column_is_pivot) element = i != j ? -cross : (i == p ? -first : -last);
            work[at] = element;
        }
    }
}

// The inverse of the pivot block; 1 x 1 where p == q.
void take_pivot(uint p, uint q) {
    float first;
    float cross = 0.0;
    float last = 0.0;
    if (p == q) {
        first = exact_reciprocal(work[place(p, p)]);
    } else {
        // By the off-diagonal element b: E^-1 = ((c/b, -1), (-1, a/b)) / (b (ac/b^2 - 1)).
        float inverse_b = exact_reciprocal(work[place(q, p)]);
        precise float a_part = exact_flush_operand(work[place(p, p)]) * inverse_b;
        precise float c_part = exact_flush_operand(work[place(q, q)]) * inverse_b;
        a_part = exact_flush_operand(a_part);
        c_part = exact_flush_operand(c_part);
        precise float determinant = a_part * c_part - 1.0;
        precise float scale = exact_reciprocal(determinant) * inverse_b;
        precise float scaled_first = c_part * scale;
        precise float scaled_last = a_part * scale;
        first = exact_flush_operand(scaled_first);
        last = exact_flush_operand(scaled_last);
        cross = -scale;
    }
    memoryBarrierBuffer();
    barrier();
    take_columns(p, q, first, cross, last);
    memoryBarrierBuffer();
    barrier();
    sweep(p, q, first, cross, last);
    if (gl_LocalInvocationID.x == 0u) {
        state[marks + p] = 1u;
        state[marks + q] = 1u;
        swept += p == q ? 1u : 2u;
    }
}

void main() {
    uint block = linear_group();
    if (block >= params.blocks || !is_live(block)) return;
    uint header = state_of(block);
    matrix = work_of(block);
    stride = 2u * params.padded_n;
    marks = rows_of(block);
    if (gl_LocalInvocationID.x == 0u) {
        swept = params.first == 0u ? 0u : state[header + kStateSwept];
        verdict = params.first == 0u ? kPivotGood : state[header + kStateVerdict];
    }
    if (params.first == 0u) {
        for (uint i = gl_LocalInvocationID.x; i < params.n; i += WORKGROUP_SIZE) state[marks + i] = 0u;
    }
    memoryBarrierBuffer();
    barrier();
    for (uint step = params.first; step < params.end; ++step) {
        if (swept == params.n || verdict != kPivotGood) break;
        find_candidates();
        barrier();
        uint on = best_lane(0u);
        uint off = best_lane(1u);
        float largest_on = uintBitsToFloat(found_bits[on]);
        float largest_off = uintBitsToFloat(found_bits[off]);
        if (!(largest_on > params.tolerance || largest_off > params.tolerance)) {
            barrier();
            if (gl_LocalInvocationID.x == 0u) verdict = kPivotZero;
        } else {
            precise float needed = uintBitsToFloat(kGrowth) * largest_off;
            uint at = largest_on >= needed ? found_at[on] : found_at[off];
            take_pivot(at % params.n, at / params.n);
        }
        memoryBarrierBuffer();
        barrier();
    }
    // Marks stand where verdicts on rows are looked for.
    if (gl_LocalInvocationID.x == 0u) {
        state[header + kStateSwept] = swept;
        state[header + kStateVerdict] = verdict;
    }
}
