// SPDX-License-Identifier: Apache-2.0
// ABI of the block_inverse family (docs/kernels/block_inverse.md): inverses of symmetric blocks. All its kernels take
// the same bindings and parameters; a dispatch works on a window of blocks.
#ifndef YOLK_ABI_BLOCK_INVERSE_H
#define YOLK_ABI_BLOCK_INVERSE_H
#include "yolk/internal/abi/prelude.h"
ABI_BEGIN(block_inverse)

ABI_CONST uint kBindIn = 0;        // fp32 [blocks, n, n], the lower triangles are read
ABI_CONST uint kBindDamping = 1;   // fp32 [blocks of all windows]; anything where damping is relative
ABI_CONST uint kBindOut = 2;       // out, fp32 [blocks, n, n]
ABI_CONST uint kBindStatus = 3;    // out, uint32 [blocks of all windows]
ABI_CONST uint kBindResidual = 4;  // out, fp32 [blocks of all windows]
ABI_CONST uint kBindState = 5;     // scratch: per block kStateHeader words and 2 * padded_n, then kCounts, then 2 lists
ABI_CONST uint kBindWork = 6;      // scratch: fp32 [blocks, padded_n, 2 * padded_n]
ABI_CONST uint kBindWork4 = 7;     // the same, four elements at a time
ABI_CONST uint kBindingCount = 8;
ABI_CONST uint kUniformMask = 0;

ABI_CONST uint kSpecWorkgroupSize = 0;
ABI_CONST uint kSpecTileRows = 1;  // of an invocation, in an update and in the residual: 4 or 8

ABI_CONST uint kPanel = 8;       // pivots of a panel, rows and columns of a tile; padded_n is a multiple
ABI_CONST uint kMaxRegisters = 32;  // the largest n of the registers' style

// Words of a block's state.
ABI_CONST uint kStateCode = 0;      // kLive, or the final status word
ABI_CONST uint kStateAttempt = 1;   // the attempt that is made, or was made last
ABI_CONST uint kStateExponent = 2;  // int: exponent of the largest magnitude
ABI_CONST uint kStateMean = 3;      // fp32: trace / n of the damped block, in units of 2^exponent
ABI_CONST uint kStateDamping = 4;   // fp32: of the first attempt, same unit
ABI_CONST uint kStateAdded = 5;     // fp32: of the attempt kStateAttempt
ABI_CONST uint kStateVerdict = 6;   // Symmetric: on all pivots so far
ABI_CONST uint kStateSwept = 7;     // Symmetric: how many pivots have been taken
ABI_CONST uint kStateHeader = 8;
// Then int [padded_n]: the exponents h of the scaling; then [padded_n]: verdicts on the pivots, swept marks, sums of
// the residual's rows.

// Behind the blocks' words: how many blocks make attempt 1, 2, ..., and two lists [blocks] of them, for odd and even
// attempts.
ABI_CONST uint kCounts = 16;
ABI_CONST uint kListsPerBlock = 2;

ABI_CONST uint kLive = 0xFFFFFFFFu;
ABI_CONST uint kStatusOk = 0u;
ABI_CONST uint kStatusDamped = 1u;
ABI_CONST uint kStatusIndefinite = 2u;
ABI_CONST uint kStatusSingular = 3u;
ABI_CONST uint kStatusNotFinite = 4u;
ABI_CONST uint kRetriesShift = 8u;

// Verdicts on a pivot.
ABI_CONST uint kPivotGood = 0u;
ABI_CONST uint kPivotZero = 1u;      // within the tolerance
ABI_CONST uint kPivotNegative = 2u;
ABI_CONST uint kPivotUnheld = 3u;    // good, but fp32 cannot hold the row of the inverse

struct Params {
    uint n;
    uint padded_n;
    uint blocks;           // of this window
    uint first_block;      // of this window, for damping, status and residual
    uint in_offset;        // of this window's first block in its views, in elements
    uint out_offset;
    uint symmetric;        // 1: InverseMode::Symmetric
    uint damping_per_block;
    uint retries;
    uint attempt;          // of this dispatch: blocks at another one are left alone
    uint invocations;      // of this dispatch, which take the items of an attempt by turns
    uint first;            // what this dispatch begins with (pivot, column) ...
    uint end;              // ... and where it ends
    float damping;         // relative
    float inverse_n;       // 1 / n
    float tolerance;       // (n + 16) 2^-26
};

ABI_END
#endif
