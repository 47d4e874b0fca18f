// SPDX-License-Identifier: Apache-2.0
// ABI of the perturbed_embedding family (docs/kernels/perturbed_embedding.md): out[m, row, :] = W[id, :] +- scale *
// sum over rho of A[id, rho] B[:, rho], id = ids[m, row], of member first_member + m.
#ifndef YOLK_ABI_PERTURBED_EMBEDDING_H
#define YOLK_ABI_PERTURBED_EMBEDDING_H
#include "yolk/internal/abi/prelude.h"
ABI_BEGIN(perturbed_embedding)

ABI_CONST uint kBindTable = 0;   // W: fp32 [table_rows, columns]
ABI_CONST uint kBindIds = 1;     // uint [rows] where shared, else [members, rows]
ABI_CONST uint kBindOut = 2;     // fp32 [members, rows, columns]
ABI_CONST uint kBindStatus = 3;  // uint [1]: ids out of range are added to it
ABI_CONST uint kBindingCount = 4;
ABI_CONST uint kUniformMask = 0;

ABI_CONST uint kSpecWorkgroupSize = 0;  // 1 ... 256
ABI_CONST uint kSpecRank = 1;           // 1 ... 32
ABI_CONST uint kSpecSharedIds = 2;      // 1: all members have the same ids
ABI_CONST uint kSpecAntithetic = 3;     // 1: both sides of a pair share noise; 0: each member has its own
ABI_CONST uint kSpecVectors = 4;        // 1: columns are a multiple of four

struct Params {
    uint seed_low;
    uint seed_high;
    uint row_stream;     // parameter | domain A, of W's rows
    uint column_stream;  // parameter | domain B
    uint time;
    int first_member;
    uint members;
    uint rows;  // ids per member
    uint table_rows;
    uint columns;
    float scale;  // sigma / sqrt(rank) / 85, zero or at least 2^-40
};

ABI_END
#endif
