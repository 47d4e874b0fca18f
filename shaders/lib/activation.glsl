// SPDX-License-Identifier: Apache-2.0
// An activation by its number (yolk/internal/abi/activation.h). With `kind` a specialization constant, one branch remains. The
// host's form is exact_activate, of the same source.
#ifndef YOLK_LIB_ACTIVATION_GLSL
#define YOLK_LIB_ACTIVATION_GLSL
#include "yolk/exact/exact_activations.h"

float activate(uint kind, float x) { return exact_activate(kind, x); }

#endif
