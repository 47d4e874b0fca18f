// SPDX-License-Identifier: Apache-2.0
// What the kernels of natural_gradient share: their buffers, and what becomes of an element of P g.
#ifndef YOLK_NATURAL_GRADIENT_GLSL
#define YOLK_NATURAL_GRADIENT_GLSL

layout(local_size_x_id = kSpecWorkgroupSize) in;
layout(constant_id = kSpecWorkgroupSize) const uint WORKGROUP_SIZE = 32;
layout(constant_id = kSpecRowLanes) const uint ROW_LANES = 32;
layout(constant_id = kSpecStep) const uint STEP = 0;
layout(constant_id = kSpecPreconditioned) const uint PRECONDITIONED = 0;

// Not restrict: what a variant does not touch is bound to something else.
layout(set = 0, binding = kBindPreconditioner, scalar) readonly buffer Preconditioner { float preconditioner[]; };
layout(set = 0, binding = kBindVector, scalar) readonly buffer Vector { float vector[]; };
layout(set = 0, binding = kBindStep, scalar) writeonly buffer Step { float step_[]; };
layout(set = 0, binding = kBindPreconditioned, scalar) writeonly buffer Preconditioned { float preconditioned[]; };
layout(push_constant, scalar) uniform PushConstants { Params params; };

#define ROWS_HAVE_LANES
#include "rows.glsl"

// Zeros are +0: exact_flush gives no other.
void finish(uint at, float value) {
    if (PRECONDITIONED == 1u) preconditioned[at] = value;
    if (STEP == 1u) {
        precise float moved = value * params.minus_learning_rate;
        step_[at] = exact_flush(moved);
    }
}

#endif
