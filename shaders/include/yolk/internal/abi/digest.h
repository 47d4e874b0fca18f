// SPDX-License-Identifier: Apache-2.0
// ABI of the digest family (docs/kernels/digest.md): sums += for each four words of `in`, their Philox4x32-10 under the
// key of where they are.
#ifndef YOLK_ABI_DIGEST_H
#define YOLK_ABI_DIGEST_H
#include "yolk/internal/abi/prelude.h"
ABI_BEGIN(digest)

ABI_CONST uint kBindIn = 0;    // uint32 [count]
ABI_CONST uint kBindSums = 1;  // in, out: uint32 [kSumWords]
ABI_CONST uint kBindingCount = 2;
ABI_CONST uint kUniformMask = 0;

ABI_CONST uint kSpecWorkgroupSize = 0;        // 1 ... 256
ABI_CONST uint kSpecBlocksPerInvocation = 1;  // 1 ... 16: blocks of four words that one invocation takes

// Words of the sums: two sums modulo 2^64, low word first, and a count modulo 2^32.
ABI_CONST uint kSumFirst = 0;
ABI_CONST uint kSumSecond = 2;
ABI_CONST uint kSumNotFinite = 4;  // words that are an infinity or a NaN as fp32
ABI_CONST uint kSumWords = 5;

struct Params {
    uint count;  // words
    uint array;  // which one, so that equal arrays do not count as the same
};

ABI_END
#endif
