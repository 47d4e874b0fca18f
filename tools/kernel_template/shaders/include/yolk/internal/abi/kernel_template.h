// SPDX-License-Identifier: Apache-2.0
// ABI of the kernel_template family (docs/kernels/kernel_template.md): out[i] = in[i]^2.
// Replace: the formula above; bindings, constants and Params below. Params: one uint, int or float per line.
#ifndef YOLK_ABI_KERNEL_TEMPLATE_H
#define YOLK_ABI_KERNEL_TEMPLATE_H
#include "yolk/internal/abi/prelude.h"
ABI_BEGIN(kernel_template)

ABI_CONST uint kBindIn = 0;   // fp32 [count]
ABI_CONST uint kBindOut = 1;  // out, fp32 [count]
ABI_CONST uint kBindingCount = 2;
ABI_CONST uint kUniformMask = 0;

ABI_CONST uint kSpecWorkgroupSize = 0;          // 1 ... 256
ABI_CONST uint kSpecElementsPerInvocation = 1;  // 1 ... 8

struct Params {
    uint count;  // elements
};

ABI_END
#endif
