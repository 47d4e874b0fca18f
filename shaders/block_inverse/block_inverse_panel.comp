// SPDX-License-Identifier: Apache-2.0
// block_inverse, tiles: the panel of kPanel pivots from `first` on. Every invocation factors the panel's diagonal block
// (L D L^T, right-looking) for itself; then each takes two of the rows below and of the columns of the inverse of L,
// whose rows of the panel it solves for. padded_n / 2 invocations per block. Work, by rows of 2 padded_n: left L below
// the diagonal, and above it u = L D of the rows' columns (inside the diagonal blocks the transpose of L); right the
// inverse of L. Class P: for each element the pivots in ascending order. Bindings: yolk/internal/abi/block_inverse.h. Loops: two
// iterations; the rest unrolled.
#version 460
#extension GL_EXT_scalar_block_layout : require
#extension GL_GOOGLE_include_directive : require
#extension GL_EXT_control_flow_attributes : require
#define BLOCK_WORK
#include "block_common.glsl"

float factor[kPanel * kPanel];  // below the diagonal L, above it u, each at its step
float inverse[kPanel];
float line[kPanel];

// All loops run over the whole panel, for what is unrolled must not depend on an outer loop; `if`s are decided then.
void factor_diagonal(uint corner, uint stride) {
    [[unroll]] for (uint e = 0u; e < kPanel * kPanel; ++e) {
        if (e % kPanel <= e / kPanel) factor[e] = work[corner + (e / kPanel) * stride + e % kPanel];
    }
    [[unroll]] for (uint q = 0u; q < kPanel; ++q) {
        inverse[q] = block_pivot_inverse(factor[q * kPanel + q], params.tolerance);
        [[unroll]] for (uint p = 0u; p < kPanel; ++p) {
            if (p > q) {
                float u = block_bounded(factor[p * kPanel + q]);
                precise float l = u * inverse[q];
                factor[q * kPanel + p] = u;
                factor[p * kPanel + q] = block_flush(l);
            }
        }
        [[unroll]] for (uint e = 0u; e < kPanel * kPanel; ++e) {
            if (e % kPanel <= e / kPanel && e % kPanel > q) {
                precise float product = factor[(e / kPanel) * kPanel + q] * factor[q * kPanel + e % kPanel];
                precise float next = factor[e] - product;
                factor[e] = next;
            }
        }
    }
}

// A row below the panel: L to its place, u above the diagonal.
void factor_row(uint matrix, uint stride, uint i) {
    [[unroll]] for (uint q = 0u; q < kPanel; ++q) line[q] = work[matrix + i * stride + params.first + q];
    [[unroll]] for (uint q = 0u; q < kPanel; ++q) {
        float u = block_bounded(line[q]);
        precise float product = u * inverse[q];
        float l = block_flush(product);
        work[matrix + i * stride + params.first + q] = l;
        work[matrix + (params.first + q) * stride + i] = u;
        [[unroll]] for (uint p = 0u; p < kPanel; ++p) {
            if (p > q) {
                precise float step = l * factor[q * kPanel + p];
                precise float next = line[p] - step;
                line[p] = next;
            }
        }
    }
}

// Column c of the inverse of L, the panel's rows.
void solve_column(uint matrix, uint stride, uint c) {
    uint at = matrix + params.first * stride + params.padded_n + c;
    [[unroll]] for (uint p = 0u; p < kPanel; ++p) {
        bool own = c >= params.first;
        float known = work[at + p * stride];
        line[p] = mix(known, mix(0.0, 1.0, c == params.first + p), own);
    }
    [[unroll]] for (uint q = 0u; q < kPanel; ++q) {
        line[q] = block_flush(line[q]);
        work[at + q * stride] = line[q];
        [[unroll]] for (uint p = 0u; p < kPanel; ++p) {
            if (p > q) {
                precise float step = factor[p * kPanel + q] * line[q];
                precise float next = line[p] - step;
                line[p] = next;
            }
        }
    }
}

void take_item(uint index) {
    uint half_n = params.padded_n / 2u;
    uint block = attempt_block(index / half_n);
    if (!is_live(block)) return;
    uint stride = 2u * params.padded_n;
    uint matrix = work_of(block);
    uint corner = matrix + params.first * stride + params.first;
    factor_diagonal(corner, stride);
    uint below = params.padded_n - params.first - kPanel;
    for (uint t = index % half_n; t < params.padded_n; t += half_n) {
        if (t < below) factor_row(matrix, stride, params.first + kPanel + t);
        else solve_column(matrix, stride, t - below);
    }
    // The others read the diagonal block: what becomes of it goes above its diagonal, the pivots to the state.
    if (index % half_n == 0u) {
        [[unroll]] for (uint e = 0u; e < kPanel * kPanel; ++e) {
            if (e % kPanel < e / kPanel) work[corner + (e % kPanel) * stride + e / kPanel] = factor[e];
        }
        [[unroll]] for (uint q = 0u; q < kPanel; ++q)
            state[rows_of(block) + params.first + q] = floatBitsToUint(factor[q * kPanel + q]);
    }
}

void main() {
    FOR_EACH_ITEM(params.padded_n / 2u) take_item(index);
}
