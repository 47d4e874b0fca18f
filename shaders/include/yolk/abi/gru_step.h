// SPDX-License-Identifier: Apache-2.0
// ABI of the gru_step family (docs/kernels/gru_step.md): the elementwise half of a minimal gated unit, in two kernels.
#ifndef YOLK_ABI_GRU_STEP_H
#define YOLK_ABI_GRU_STEP_H
#include "yolk/abi/prelude.h"
ABI_BEGIN(gru_step)

ABI_CONST uint kBindPreActivation = 0;  // fp32 [members, rows, columns]: of the gate, of the candidate
ABI_CONST uint kBindBias = 1;           // fp32 [columns] or [members, columns]; anything where there is none
ABI_CONST uint kBindState = 2;          // fp32 [members, rows, columns]
ABI_CONST uint kBindGate = 3;           // the same shape; gru_step_gate writes it, gru_step_update reads it
ABI_CONST uint kBindOut = 4;            // out, the same shape: the gated state, the next state
ABI_CONST uint kBindingCount = 5;
ABI_CONST uint kUniformMask = 0;

ABI_CONST uint kSpecWorkgroupSize = 0;          // 1 ... 256
ABI_CONST uint kSpecElementsPerInvocation = 1;  // 1 ... 8
ABI_CONST uint kSpecHasBias = 2;

struct Params {
    uint element_count;  // members * rows * columns
    uint columns;
    uint member_elements;  // rows * columns
    uint bias_stride;      // from one member's bias to the next: columns, or 0 where they share it
};

ABI_END
#endif
