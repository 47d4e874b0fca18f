// SPDX-License-Identifier: Apache-2.0
// gather: values[m, i, :] = table[m, ids[m, i], :], a row of zeros where the id is not below table_rows; such ids are
// counted into status[0], once for each member and i. Bindings, constants: yolk/internal/abi/gather.h. No scratch.
// Work: one invocation copies LOADS_PER_INVOCATION elements (GATHER_QUADS: vectors of four), a workgroup's size apart;
// grid folded over x and y. No subgroup assumption, no shared memory.
// Exactness: class E, bits are moved; the count is a sum of integers, by atomic additions.
// Loops: LOADS_PER_INVOCATION iterations, none inside.
#version 460
#extension GL_EXT_scalar_block_layout : require
#extension GL_GOOGLE_include_directive : require
#include "yolk/internal/abi/gather.h"

layout(local_size_x_id = kSpecWorkgroupSize) in;
layout(constant_id = kSpecWorkgroupSize) const uint WORKGROUP_SIZE = 64;
layout(constant_id = kSpecLoadsPerInvocation) const uint LOADS_PER_INVOCATION = 1;

#ifdef GATHER_QUADS
#define Words uvec4
#else
#define Words uint
#endif

layout(set = 0, binding = kBindTable, scalar) readonly restrict buffer Table { Words values[]; } table_;
layout(set = 0, binding = kBindIds, scalar) readonly restrict buffer Ids { uint values[]; } ids_;
layout(set = 0, binding = kBindValues, scalar) writeonly restrict buffer Values { Words values[]; } values_;
layout(set = 0, binding = kBindStatus, scalar) restrict buffer Status { uint out_of_range; } status_;
layout(push_constant, scalar) uniform PushConstants { Params params; };

void main() {
    uint group = gl_WorkGroupID.x + gl_WorkGroupID.y * gl_NumWorkGroups.x;
    uint first = group * WORKGROUP_SIZE * LOADS_PER_INVOCATION + gl_LocalInvocationID.x;
    for (uint load = 0u; load < LOADS_PER_INVOCATION; ++load) {
        uint unit = first + load * WORKGROUP_SIZE;
        uint row = unit / params.columns;
        uint column = unit % params.columns;
        uint member = row / params.id_count;
        if (member >= params.members) return;
        uint id = ids_.values[member * params.ids_stride + row % params.id_count];
        Words word = Words(0u);
        if (id < params.table_rows) {
            word = table_.values[member * params.table_stride + id * params.columns + column];
        } else if (column == 0u) {
            atomicAdd(status_.out_of_range, 1u);
        }
        values_.values[unit] = word;
    }
}
