// SPDX-License-Identifier: Apache-2.0
// ABI of the matmul family (docs/kernels/matmul.md): out[z] = epilogue(op(a[z]) op(b[z])) for z of a batch, op the
// identity or the transpose. Offsets and strides in elements; "stride" is from row to row as stored. Matrix z lies
// z / inner_batch batch strides and z % inner_batch inner strides behind the first (shaders/matmul/matmul_batch.glsl).
#ifndef YOLK_ABI_MATMUL_H
#define YOLK_ABI_MATMUL_H
#include "yolk/internal/abi/activation.h"
#include "yolk/internal/abi/float_format.h"
#include "yolk/internal/abi/prelude.h"
ABI_BEGIN(matmul)

ABI_CONST uint kBindA = 0;         // fp32, or as kSpecFormatA says; a uniform buffer in matmul_uniform_*
ABI_CONST uint kBindB = 1;         // fp32, or as kSpecFormatB says
ABI_CONST uint kBindOut = 2;       // fp32; partial sums between split dispatches and in split-K
ABI_CONST uint kBindBias = 3;      // fp32 [batch or 1, n]
ABI_CONST uint kBindResidual = 4;  // fp32, laid out as the caller says
ABI_CONST uint kBindA4 = 5;        // a again, four elements at a time; in matmul_cooperative_* vectors of 16 bytes
ABI_CONST uint kBindB4 = 6;        // b again
ABI_CONST uint kBindingCount = 7;
ABI_CONST uint kUniformMask = 0;
ABI_CONST uint kUniformMaskOfA = (1u << kBindA) | (1u << kBindA4);  // matmul_uniform_*
ABI_CONST uint kTexelMask = (1u << kBindA) | (1u << kBindB);        // matmul_texel_*
ABI_CONST uint kTexel4Mask = (1u << kBindA4) | (1u << kBindB4);

ABI_CONST uint kSpecWorkgroupSize = 0;  // (BLOCK_M / TILE_M) * (BLOCK_N / TILE_N)
ABI_CONST uint kSpecBlockM = 1;         // rows of a workgroup
ABI_CONST uint kSpecBlockN = 2;         // columns of a workgroup
ABI_CONST uint kSpecBlockK = 3;         // k that are loaded at once
ABI_CONST uint kSpecTileM = 4;          // rows of an invocation; of a subgroup in matmul_cooperative_*
ABI_CONST uint kSpecTileN = 5;          // columns likewise; of an invocation in groups of four
ABI_CONST uint kSpecVectorA = 6;        // 1 where a is read four elements at a time
ABI_CONST uint kSpecVectorB = 7;        // likewise b
ABI_CONST uint kSpecTransposeA = 8;     // 1: a is stored [k, m]
ABI_CONST uint kSpecTransposeB = 9;     // 1: b is stored [n, k]
ABI_CONST uint kSpecBias = 10;          // 1: adds a bias per column
ABI_CONST uint kSpecActivation = 11;    // yolk/internal/abi/activation.h
ABI_CONST uint kSpecResidual = 12;      // 1: adds the residual, after the activation
ABI_CONST uint kSpecPartial = 13;       // 1: some dispatches store partial sums: split chains, or split-K
ABI_CONST uint kSpecRagged = 14;        // 1: m or n is no multiple of BLOCK_M or BLOCK_N
ABI_CONST uint kSpecWholeK = 15;        // 1: k (and split_k) is a multiple of BLOCK_K
ABI_CONST uint kSpecFormatA = 16;       // yolk/internal/abi/float_format.h; matmul_*_formats_*, matmul_*_storage16_*
ABI_CONST uint kSpecFormatB = 17;
ABI_CONST uint kSpecVectorOut = 21;    // 1: rows of out begin at multiples of four elements
ABI_CONST uint kSpecShapeM = 18;        // of a fragment: matmul_cooperative_*
ABI_CONST uint kSpecShapeN = 19;
ABI_CONST uint kSpecShapeK = 20;
ABI_CONST uint kSpecStages = 22;  // blocks in shared memory at once, 1 or 2: matmul_cooperative_staged_*

// Elements of a that one uniform buffer holds (64 KiB).
ABI_CONST uint kUniformElements = 16384;

struct Params {
    uint m;
    uint n;
    uint k;
    uint batch;
    uint inner_batch;
    uint a_offset;
    uint a_stride;
    uint a_batch_stride;
    uint a_inner_stride;
    uint b_offset;
    uint b_stride;
    uint b_batch_stride;
    uint b_inner_stride;
    uint out_offset;
    uint out_stride;
    uint out_batch_stride;
    uint out_inner_stride;
    uint bias_offset;
    uint bias_batch_stride;
    uint residual_offset;
    uint residual_stride;
    uint residual_batch_stride;
    uint residual_inner_stride;
    uint first_k;       // this dispatch adds the products of k in [first_k, end_k); a multiple of BLOCK_K
    uint end_k;
    uint split_count;   // split-K: pieces of k, each of split_k, in `out` one behind the other
    uint split_k;
};

ABI_END
#endif
