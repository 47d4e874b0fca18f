// SPDX-License-Identifier: Apache-2.0
// ABI of the probe family (docs/quirks.md): cases go in, what the device made of them comes out. All words; inputs come from a buffer, so that
// no compiler can fold them.
#ifndef YOLK_ABI_PROBE_H
#define YOLK_ABI_PROBE_H
#include "yolk/internal/abi/prelude.h"
ABI_BEGIN(probe)

ABI_CONST uint kBindCases = 0;    // four words a case
ABI_CONST uint kBindResults = 1;  // one word a case
ABI_CONST uint kBindingCount = 2;
ABI_CONST uint kUniformMask = 0;

// Of a cooperative matrix multiplication: result[m, n] = a[m, k] b[k, n] (probe_cooperative_*).
ABI_CONST uint kSpecSubgroupSize = 0;
ABI_CONST uint kSpecShapeM = 1;
ABI_CONST uint kSpecShapeN = 2;
ABI_CONST uint kSpecShapeK = 3;

struct Params {
    uint case_count;
};

// probe_arithmetic: a case is {operation, a, b, c}, the operands as the bits of floats; the result is the bits of a float.
ABI_CONST uint kMultiply = 0;         // a * b
ABI_CONST uint kAdd = 1;              // a + b
ABI_CONST uint kSubtract = 2;         // a - b
ABI_CONST uint kMultiplyAdd = 3;      // a * b + c
ABI_CONST uint kSubtractProduct = 4;  // c - a * b
ABI_CONST uint kSumInOrder = 5;       // (a + b) + c
ABI_CONST uint kDot = 6;              // (a * b + b * c) + c * a
ABI_CONST uint kFlushedProduct = 7;   // exact_flush(a * b)
ABI_CONST uint kFromInteger = 8;      // float(int(a)), a the bits of an integer
ABI_CONST uint kToInteger = 9;        // int(a), the bits of an integer

// probe_loops: a case is {shape, outer count, inner count, start}; the result is `start` after as many probe_step as the loop made iterations.
ABI_CONST uint kFlatLoop = 0;    // outer iterations
ABI_CONST uint kNestedLoop = 1;  // outer * inner iterations of the inner loop

// probe_integer_dot: a case is {a, b, c, unused}; the result is c + the dot product of a's and b's four signed bytes.
// probe_storage16: a case is eight 16-bit words h; the result is the sum of (2 i + 1) h_i.
ABI_CONST uint kHalvesPerCase = 8;
// probe_cooperative_*: cases are fp16, bf16 or int8, a [m, k] and behind it b [k, n]; results fp32, or int32 of int8,
// [2, m, n]: operands from the buffer, and staged.

// A generator of full period (Knuth's constants): no compiler has a closed form for n steps, and the state tells n.
ABI_CONST uint kStepMultiplier = 1664525u;
ABI_CONST uint kStepIncrement = 1013904223u;

ABI_END
#endif
