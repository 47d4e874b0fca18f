// SPDX-License-Identifier: Apache-2.0
// The parameter table of es_update and the search in it: parameters of any number are walked in one dispatch.
#ifndef YOLK_ES_UPDATE_PARAMETER_ENTRIES_GLSL
#define YOLK_ES_UPDATE_PARAMETER_ENTRIES_GLSL

layout(set = 0, binding = kBindEntries, scalar) readonly restrict buffer Entries { ParameterEntry entries[]; };
layout(push_constant, scalar) uniform PushConstants { Params params; };

uint linear_invocation(uint workgroup_size) {
    return (gl_WorkGroupID.x + gl_WorkGroupID.y * gl_NumWorkGroups.x) * workgroup_size + gl_LocalInvocationID.x;
}

// The last parameter whose `first` is not above `index`: those that have none of what is counted share theirs with the
// next one and are passed over.
#define DEFINE_SEARCH(name, first)               \
    uint name(uint index) {                      \
        uint low = 0u;                           \
        uint high = params.parameter_count;      \
        while (high - low > 1u) {                \
            uint middle = (low + high) / 2u;     \
            if (entries[middle].first <= index)  \
                low = middle;                    \
            else                                 \
                high = middle;                   \
        }                                        \
        return low;                              \
    }
DEFINE_SEARCH(parameter_of_tile, first_tile)
DEFINE_SEARCH(parameter_of_group, first_group)
DEFINE_SEARCH(parameter_of_unit, first_unit)
DEFINE_SEARCH(parameter_of_frozen, first_frozen)

#endif
