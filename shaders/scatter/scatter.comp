// SPDX-License-Identifier: Apache-2.0
// scatter: target[m, ids[m, i], :] = values[m, i, :], or += (MODE), for i = first_id ... end_id - 1 in that order: of
// equal ids the last one stays, or all are added one after the other. Ids not below target_rows write nothing and are
// counted into status[0], once for each member and i. Bindings, constants: yolk/internal/abi/scatter.h. No scratch.
// Work: one invocation owns a column (SCATTER_QUADS: four) of a member and walks i, so that no two write the same
// element; grid folded over x and y. No subgroup assumption, no shared memory.
// Exactness: assigning is class E. Adding is class P by the product rule: both operands are read as zero below 2^-100,
// sums are multiples of 2^-123. The same bits for any split of the ids over dispatches.
// Loops: end_id - first_id iterations, none inside.
#version 460
#extension GL_EXT_scalar_block_layout : require
#extension GL_GOOGLE_include_directive : require
#include "yolk/internal/abi/scatter.h"
#include "yolk/exact/exact_elementwise.h"

layout(local_size_x_id = kSpecWorkgroupSize) in;
layout(constant_id = kSpecWorkgroupSize) const uint WORKGROUP_SIZE = 64;
layout(constant_id = kSpecMode) const uint MODE = 0;

#ifdef SCATTER_QUADS
#define Words uvec4
#else
#define Words uint
#endif

layout(set = 0, binding = kBindTarget, scalar) restrict buffer Target { Words values[]; } target_;
layout(set = 0, binding = kBindIds, scalar) readonly restrict buffer Ids { uint values[]; } ids_;
layout(set = 0, binding = kBindValues, scalar) readonly restrict buffer Values { Words values[]; } values_;
layout(set = 0, binding = kBindStatus, scalar) restrict buffer Status { uint out_of_range; } status_;
layout(push_constant, scalar) uniform PushConstants { Params params; };

Words sum(Words x, Words y) {
#ifdef SCATTER_QUADS
    return Words(exact_sum_word(x.x, y.x), exact_sum_word(x.y, y.y), exact_sum_word(x.z, y.z),
                 exact_sum_word(x.w, y.w));
#else
    return exact_sum_word(x, y);
#endif
}

void main() {
    uint group = gl_WorkGroupID.x + gl_WorkGroupID.y * gl_NumWorkGroups.x;
    uint unit = group * WORKGROUP_SIZE + gl_LocalInvocationID.x;
    uint member = unit / params.columns;
    uint column = unit % params.columns;
    if (member >= params.members) return;
    uint out_of_range = 0u;
    for (uint i = params.first_id; i < params.end_id; ++i) {
        uint id = ids_.values[member * params.ids_stride + i];
        if (id < params.target_rows) {
            uint place = member * params.target_stride + id * params.columns + column;
            Words value = values_.values[member * params.values_stride + i * params.columns + column];
            target_.values[place] = MODE == kModeAdd ? sum(target_.values[place], value) : value;
        } else {
            ++out_of_range;
        }
    }
    if (column == 0u && out_of_range != 0u) atomicAdd(status_.out_of_range, out_of_range);
}
