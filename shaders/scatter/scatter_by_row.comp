// SPDX-License-Identifier: Apache-2.0
// scatter, as in scatter.comp, where a workgroup owns a row of a member's target and finds the ids that name it: for lists
// of ids that are long beside members x columns, which the other form walks one by one. Bindings, constants: the same.
// No scratch. Work: workgroups are members x target_rows, folded over x and y; WORKGROUP_SIZE ids are compared at once,
// and the invocations take WORKGROUP_SIZE columns at a time. No subgroup assumption; one bit of shared memory for each
// invocation, three barriers for WORKGROUP_SIZE ids.
// Exactness: as there, for the ids of a row are taken in their order. A row that no id names is not written.
// Loops: ceil(columns / WORKGROUP_SIZE) times ceil(ids / WORKGROUP_SIZE) times the words of bits, in them each id that
// names the row.
#version 460
#extension GL_EXT_scalar_block_layout : require
#extension GL_GOOGLE_include_directive : require
#include "yolk/internal/abi/scatter.h"
#include "yolk/exact/exact_elementwise.h"

layout(local_size_x_id = kSpecWorkgroupSize) in;
layout(constant_id = kSpecWorkgroupSize) const uint WORKGROUP_SIZE = 64;
layout(constant_id = kSpecMode) const uint MODE = 0;

layout(set = 0, binding = kBindTarget, scalar) restrict buffer Target { uint values[]; } target_;
layout(set = 0, binding = kBindIds, scalar) readonly restrict buffer Ids { uint values[]; } ids_;
layout(set = 0, binding = kBindValues, scalar) readonly restrict buffer Values { uint values[]; } values_;
layout(set = 0, binding = kBindStatus, scalar) restrict buffer Status { uint out_of_range; } status_;
layout(push_constant, scalar) uniform PushConstants { Params params; };

shared uint named[kMaxRowWords];  // a bit for each of the ids that are compared at once

void main() {
    uint group = gl_WorkGroupID.x + gl_WorkGroupID.y * gl_NumWorkGroups.x;
    uint member = group / params.target_rows;
    uint row = group % params.target_rows;
    if (member >= params.members) return;
    uint lane = gl_LocalInvocationID.x;
    uint out_of_range = 0u;
    for (uint first_column = 0u; first_column < params.columns; first_column += WORKGROUP_SIZE) {
        uint column = first_column + lane;
        bool has_column = column < params.columns;
        uint place = member * params.target_stride + row * params.columns + column;
        uint word = 0u;
        if (has_column) word = target_.values[place];
        bool is_named = false;
        for (uint first = params.first_id; first < params.end_id; first += WORKGROUP_SIZE) {
            for (uint w = lane; w < kMaxRowWords; w += WORKGROUP_SIZE) named[w] = 0u;
            barrier();
            if (first + lane < params.end_id) {
                uint id = ids_.values[member * params.ids_stride + first + lane];
                if (id == row) atomicOr(named[lane / 32u], 1u << (lane % 32u));
                if (id >= params.target_rows && row == 0u && first_column == 0u) ++out_of_range;
            }
            barrier();
            for (uint w = 0u; w < kMaxRowWords; ++w) {
                for (uint bits = named[w]; bits != 0u; bits &= bits - 1u) {
                    uint i = first + 32u * w + uint(findLSB(bits));
                    is_named = true;
                    if (has_column) {
                        uint value = values_.values[member * params.values_stride + i * params.columns + column];
                        word = MODE == kModeAdd ? exact_sum_word(word, value) : value;
                    }
                }
            }
            barrier();
        }
        if (has_column && is_named) target_.values[place] = word;
    }
    if (out_of_range != 0u) atomicAdd(status_.out_of_range, out_of_range);
}
