// SPDX-License-Identifier: Apache-2.0
// The parameter table of es_update and the search in it: parameters of any number are walked in one dispatch.
#ifndef YOLK_ES_UPDATE_PARAMETER_ENTRIES_GLSL
#define YOLK_ES_UPDATE_PARAMETER_ENTRIES_GLSL

layout(set = 0, binding = kBindEntries, scalar) readonly restrict buffer Entries { ParameterEntry entries[]; };
layout(push_constant, scalar) uniform PushConstants { Params params; };

uint linear_invocation(uint workgroup_size) {
    return (gl_WorkGroupID.x + gl_WorkGroupID.y * gl_NumWorkGroups.x) * workgroup_size + gl_LocalInvocationID.x;
}

// The last parameter whose first tile is not above `tile`: those without tiles share theirs with the next one and are
// passed over.
uint parameter_of_tile(uint tile) {
    uint low = 0u;
    uint high = params.parameter_count;
    while (high - low > 1u) {
        uint middle = (low + high) / 2u;
        if (entries[middle].first_tile <= tile) low = middle;
        else high = middle;
    }
    return low;
}

uint parameter_of_element(uint element) {
    uint low = 0u;
    uint high = params.parameter_count;
    while (high - low > 1u) {
        uint middle = (low + high) / 2u;
        if (entries[middle].offset <= element) low = middle;
        else high = middle;
    }
    return low;
}

#endif
