// SPDX-License-Identifier: Apache-2.0
// ABI of the kronecker_precondition family (docs/kernels/kronecker_precondition.md): the factors' dampings, and what
// becomes of blocks whose factors have no inverse. Of pairs the first is S_in's, the second S_out's.
#ifndef YOLK_ABI_KRONECKER_PRECONDITION_H
#define YOLK_ABI_KRONECKER_PRECONDITION_H
#include "yolk/internal/abi/prelude.h"
ABI_BEGIN(kronecker_precondition)

ABI_CONST uint kBindMeans = 0;     // fp32 [2, pair_stride]: means of the diagonals
ABI_CONST uint kBindDampings = 1;  // fp32 [2, pair_stride]
ABI_CONST uint kBindInverses = 2;  // uint [2, pair_stride]: status words of block_inverse
ABI_CONST uint kBindStatus = 3;    // uint [blocks]
ABI_CONST uint kBindStep = 4;      // fp32 [blocks, n_out, n_in]
ABI_CONST uint kBindingCount = 5;
ABI_CONST uint kUniformMask = 0;

ABI_CONST uint kSpecWorkgroupSize = 0;  // 1 ... 256

// Bits of a status word; the low bytes of the two words of block_inverse follow.
ABI_CONST uint kInFailed = 1;
ABI_CONST uint kOutFailed = 2;
ABI_CONST uint kLargestInverted = 1;  // BlockStatus above this has no inverse

struct Params {
    uint blocks;
    uint pair_stride;
    uint block_elements;  // n_out n_in
    uint is_valid;        // 0: the damping is none
    float root_damping;   // sqrt(lambda)
};

ABI_END
#endif
