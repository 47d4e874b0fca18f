// SPDX-License-Identifier: Apache-2.0
// es_update, second half: gradient[element] = (factor * coefficient) * sum over slices of partials[slice, element]; 0
// for frozen parameters. One invocation per element. Bindings, constants: yolk/abi/es_update.h. No subgroup assumption,
// no shared memory. With int8 weights the slices are added as two-word integers (E), so any slicing gives the same sum;
// it is rounded once to the nearest fp32, ties to even, and multiplied in class P by the product rule
// (yolk/exact/exact_math.h). With ES_UPDATE_F32 class T: floats, slices ascending. Loop iterations per invocation:
// slice_count + 32 (the search in the table).
#version 460
#extension GL_EXT_scalar_block_layout : require
#extension GL_GOOGLE_include_directive : require
#include "yolk/abi/es_update.h"
#include "parameter_entries.glsl"
#include "wide_integer.glsl"
#include "yolk/exact/exact_math.h"

layout(local_size_x_id = kSpecWorkgroupSize) in;
layout(constant_id = kSpecWorkgroupSize) const uint WORKGROUP_SIZE = 32;

#ifdef ES_UPDATE_F32
#define Sum float
#else
#define Sum int
#endif
layout(set = 0, binding = kBindSummary, scalar) readonly restrict buffer Summaries { Summary summary; };
layout(set = 0, binding = kBindPartials, scalar) readonly restrict buffer Partials { Sum partials[]; };
layout(set = 0, binding = kBindGradient, scalar) writeonly restrict buffer Gradient { float gradient[]; };

#ifdef ES_UPDATE_F32
float total_of(uint partial) {
    float total = 0.0;
    for (uint slice = 0u; slice < params.slice_count; ++slice) {
        total += partials[slice * params.partial_count + partial];
    }
    return total;
}
#else
float total_of(uint partial) {
    uvec2 total = uvec2(0u);
    for (uint slice = 0u; slice < params.slice_count; ++slice) {
        int value = partials[slice * params.partial_count + partial];
        uint carry;
        total.x = uaddCarry(total.x, uint(value), carry);
        total.y += uint(value >> 31) + carry;
    }
    return signed_to_float(total);
}
#endif

void main() {
    uint element = linear_invocation(WORKGROUP_SIZE);
    if (element >= params.element_count) return;
    ParameterEntry entry = entries[parameter_of_element(element)];
    if (entry.kind == kKindFrozen) {
        gradient[element] = 0.0;
        return;
    }
    float factor = entry.kind == kKindVector ? params.vector_factor : params.matrix_factor;
    precise float product = factor * summary.coefficient;
    precise float scale = exact_flush(product);
    product = scale * total_of(entry.partial_offset + (element - entry.offset));
    gradient[element] = exact_flush(product);
}
