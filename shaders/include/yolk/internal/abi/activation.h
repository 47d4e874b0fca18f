// SPDX-License-Identifier: Apache-2.0
// The activations' numbers, which kernels take as a specialization constant (docs/kernels/elementwise.md). Shared by the
// families that apply one: elementwise, and what ends in an activation.
#ifndef YOLK_ABI_ACTIVATION_H
#define YOLK_ABI_ACTIVATION_H
#include "yolk/internal/abi/prelude.h"
ABI_BEGIN(activation)

ABI_CONST uint kActivationIdentity = 0;
ABI_CONST uint kActivationRelu = 1;
ABI_CONST uint kActivationGelu = 2;  // tanh form
ABI_CONST uint kActivationSilu = 3;
ABI_CONST uint kActivationTanh = 4;
ABI_CONST uint kActivationSigmoid = 5;
ABI_CONST uint kActivationCount = 6;

ABI_END
#endif
