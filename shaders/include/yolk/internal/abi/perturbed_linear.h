// SPDX-License-Identifier: Apache-2.0
// ABI of the perturbed_linear family (docs/kernels/perturbed_linear.md). An instance is one row of one member: instance
// = m * rows + row, member = first_member + m. A product of matrices, out [m, n] = a [m, k] b [k, n], whose rows are
// instances: a is x, b is W^T [in, out], or W [out, in] in the transposed operation; then the perturbation. Offsets,
// strides and sizes count elements. Names that matmul's tile uses are those of yolk/internal/abi/matmul.h.
#ifndef YOLK_ABI_PERTURBED_LINEAR_H
#define YOLK_ABI_PERTURBED_LINEAR_H
#include "yolk/internal/abi/activation.h"
#include "yolk/internal/abi/float_format.h"
#include "yolk/internal/abi/prelude.h"
ABI_BEGIN(perturbed_linear)

ABI_CONST uint kBindA = 0;           // x: fp32, or as kSpecFormatA says, [rows, k] where shared, else [instances, k], or a window of its rows
ABI_CONST uint kBindB = 1;           // W: fp32, or as kSpecFormatB says, [out, in]
ABI_CONST uint kBindOut = 2;         // out: fp32 [instances, n]; partial sums between split dispatches
ABI_CONST uint kBindProjection = 3;  // scratch: fp32 [instances, RANK], x B; scaled by +-scale once the last k is in
ABI_CONST uint kBindA4 = 4;          // a again, four elements at a time
ABI_CONST uint kBindB4 = 5;          // b again
ABI_CONST uint kBindingCount = 6;
ABI_CONST uint kUniformMask = 0;
ABI_CONST uint kUniformMaskOfA = (1u << kBindA) | (1u << kBindA4);  // perturbed_linear_output_uniform_input
ABI_CONST uint kUniformMaskOfB = (1u << kBindB) | (1u << kBindB4);  // perturbed_linear_output_uniform_weights
ABI_CONST uint kTexelMask = (1u << kBindA) | (1u << kBindB);        // perturbed_linear_*_texel
ABI_CONST uint kTexel4Mask = (1u << kBindA4) | (1u << kBindB4);

ABI_CONST uint kSpecWorkgroupSize = 0;   // 1 ... 256; of the output (BLOCK_M / TILE_M) * (BLOCK_N / TILE_N)
ABI_CONST uint kSpecBlockM = 1;          // 1 ... 9: as in yolk/internal/abi/matmul.h
ABI_CONST uint kSpecBlockN = 2;
ABI_CONST uint kSpecBlockK = 3;
ABI_CONST uint kSpecTileM = 4;
ABI_CONST uint kSpecTileN = 5;
ABI_CONST uint kSpecVectorA = 6;
ABI_CONST uint kSpecVectorB = 7;
ABI_CONST uint kSpecTransposeA = 8;      // always 0
ABI_CONST uint kSpecTransposeB = 9;      // 0 in the transposed operation
ABI_CONST uint kSpecPartial = 10;        // 1: some dispatches store partial sums
ABI_CONST uint kSpecRagged = 11;         // 1: m or n is no multiple of BLOCK_M or BLOCK_N
ABI_CONST uint kSpecWholeK = 12;         // 1: k is a multiple of what one iteration adds
ABI_CONST uint kSpecRank = 13;           // 1 ... 32
ABI_CONST uint kSpecFused = 14;          // 1: the output makes its own projection; RANK <= 8
ABI_CONST uint kSpecInputIsShared = 15;  // 1: all members read the same x
ABI_CONST uint kSpecProjectionRows = 16;  // rows of each member that an invocation of the projection serves
ABI_CONST uint kSpecFormatA = 17;  // yolk/internal/abi/float_format.h; perturbed_linear_*_formats, perturbed_linear_*_storage16
ABI_CONST uint kSpecFormatB = 18;
ABI_CONST uint kSpecAntithetic = 19;  // 1: both sides of a pair share noise; 0: each member has its own
ABI_CONST uint kSpecBase = 20;  // of perturbed_linear_output: who has made a b; kBase...
ABI_CONST uint kSpecActivation = 21;  // of perturbed_linear_output: yolk/internal/abi/activation.h, of the finished sums
ABI_CONST uint kSpecVectorOut = 22;  // of perturbed_linear_output: 1 where n is a multiple of four

// 0: the output itself. Else it reads neither operand, and first_k = end_k = k.
ABI_CONST uint kBaseInOut = 1;  // the product lies in out, [instances, n]
ABI_CONST uint kBaseInA = 2;    // the product of the shared input lies in a: fp32 [rows, n]

// Elements that one uniform buffer holds (64 KiB).
ABI_CONST uint kUniformElements = 16384;

struct Params {
    uint m;
    uint n;
    uint k;
    uint a_offset;
    uint a_stride;
    uint b_offset;
    uint b_stride;
    uint first_instance;  // of this dispatch: the instance of its first row
    uint first_k;         // this dispatch adds the products of k in [first_k, end_k); a multiple of 8
    uint end_k;
    uint seed_low;
    uint seed_high;
    uint projection_stream;  // parameter | domain of the factor of k: B; transposed: A
    uint output_stream;      // parameter | domain of the factor of n: A; transposed: B
    uint time;
    int first_member;
    uint members;
    uint rows;
    float scale;  // sigma / sqrt(rank) / 85, zero or at least 2^-40
};

ABI_END
#endif
