// SPDX-License-Identifier: Apache-2.0
// rearrange: broadcasts, permutations, slices and padding, element by element of the output: where it comes from in the
// source, or the fill. Bindings, constants: yolk/internal/abi/rearrange.h. No scratch.
// Work: one invocation writes LOADS_PER_INVOCATION elements, a workgroup's size apart; grid folded over x and y. Vectors
// of four along dimension 0 are read as such (REARRANGE_QUADS) or by four loads (REARRANGE_APART). A division for each
// dimension but the outermost. No subgroup assumption, no shared memory.
// Exactness: class E, bits are moved. Indices wrap modulo 2^32, so that one that is negative is outside every extent.
// Loops: LOADS_PER_INVOCATION iterations, none inside.
#version 460
#extension GL_EXT_scalar_block_layout : require
#extension GL_GOOGLE_include_directive : require
#include "yolk/internal/abi/rearrange.h"

layout(local_size_x_id = kSpecWorkgroupSize) in;
layout(constant_id = kSpecWorkgroupSize) const uint WORKGROUP_SIZE = 64;
layout(constant_id = kSpecLoadsPerInvocation) const uint LOADS_PER_INVOCATION = 1;
layout(constant_id = kSpecRank) const uint RANK = 1;
layout(constant_id = kSpecChecked) const uint CHECKED = 0;
layout(constant_id = kSpecHasOuter) const uint HAS_OUTER = 0;

#if defined(REARRANGE_QUADS)
#define SourceWords uvec4
#define OutWords uvec4
const uint kWidth = 4u;
#elif defined(REARRANGE_APART)
#define SourceWords uint
#define OutWords uvec4
const uint kWidth = 4u;
#else
#define SourceWords uint
#define OutWords uint
const uint kWidth = 1u;
#endif

layout(set = 0, binding = kBindSource, scalar) readonly restrict buffer Source { SourceWords values[]; } source_;
layout(set = 0, binding = kBindOut, scalar) writeonly restrict buffer Out { OutWords values[]; } out_;
layout(push_constant, scalar) uniform PushConstants { Params params; };

bool is_checked(uint dimension) { return (CHECKED >> dimension & 1u) != 0u; }

// Index `i` of a dimension adds to the place in the source; whether it lies within.
#define STEP(dimension, i, source, start, step, stride)                     \
    if (is_checked(dimension)) {                                            \
        uint index = params.start + params.step * (i);                      \
        inside = inside && index < params.source;                           \
        place += index * params.stride;                                     \
    } else {                                                                \
        place += (i) * params.stride;                                       \
    }
// The next dimension of what is left of the unit's number.
#define DIMENSION(dimension, extent, source, start, step, stride)           \
    if (RANK > dimension) {                                                 \
        uint i = rest;                                                      \
        if (RANK > dimension + 1u || HAS_OUTER != 0u) {                     \
            i = rest % params.extent;                                       \
            rest /= params.extent;                                          \
        }                                                                   \
        STEP(dimension, i, source, start, step, stride)                     \
    }

// The source's word of index `i` of dimension 0, behind the indices of the others, which have led to `place`.
SourceWords word_at(uint place, bool inside, uint i) {
    STEP(0u, i, source0, start0, step0, stride0)
    SourceWords words = SourceWords(params.fill);
#ifdef REARRANGE_QUADS
    place /= kWidth;
#endif
    if (inside) words = source_.values[place];
    return words;
}

OutWords words_of(uint unit) {
    uint i0 = unit * kWidth;
    uint rest = 0u;
    if (RANK > 1u || HAS_OUTER != 0u) {
        uint per_row = params.extent0 / kWidth;
        i0 = unit % per_row * kWidth;
        rest = unit / per_row;
    }
    uint place = params.first;
    bool inside = true;
    DIMENSION(1u, extent1, source1, start1, step1, stride1)
    DIMENSION(2u, extent2, source2, start2, step2, stride2)
    DIMENSION(3u, extent3, source3, start3, step3, stride3)
    DIMENSION(4u, extent4, source4, start4, step4, stride4)
    if (HAS_OUTER != 0u) place += rest * params.outer_stride;
#ifdef REARRANGE_APART
    return OutWords(word_at(place, inside, i0), word_at(place, inside, i0 + 1u), word_at(place, inside, i0 + 2u),
                    word_at(place, inside, i0 + 3u));
#else
    return word_at(place, inside, i0);
#endif
}

void main() {
    uint group = gl_WorkGroupID.x + gl_WorkGroupID.y * gl_NumWorkGroups.x;
    uint first = group * WORKGROUP_SIZE * LOADS_PER_INVOCATION + gl_LocalInvocationID.x;
    for (uint load = 0u; load < LOADS_PER_INVOCATION; ++load) {
        uint unit = first + load * WORKGROUP_SIZE;
        if (unit >= params.unit_count) return;
        out_.values[unit] = words_of(unit);
    }
}
