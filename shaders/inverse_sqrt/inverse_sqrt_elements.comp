// SPDX-License-Identifier: Apache-2.0
// The elements of the blocks, one per invocation:
// inverse_sqrt_begin (INVERSE_SQRT_BEGIN): Y = 4^-e (in + damping), Z = I; Y = I for blocks that have failed.
// inverse_sqrt_direction (INVERSE_SQRT_DIRECTION): Z Y becomes (3 I - Z Y) / 2 in place, and I for blocks that iterate
// no more: a product with it leaves Y and Z as they are.
// inverse_sqrt_finish: out = 2^-e (Z + Z^T) / 2, zeros for blocks that have failed.
// Bindings, constants: yolk/internal/abi/inverse_sqrt.h. No loop, no shared memory, no subgroup assumption. Class P by the
// product rule: elements of in and products with powers of two are zero below 2^-100.
#version 460
#extension GL_EXT_scalar_block_layout : require
#extension GL_GOOGLE_include_directive : require
#include "yolk/internal/abi/inverse_sqrt.h"
#include "yolk/exact/exact_math.h"

layout(local_size_x_id = kSpecWorkgroupSize) in;
layout(constant_id = kSpecWorkgroupSize) const uint WORKGROUP_SIZE = 64;

layout(set = 0, binding = kBindMatrix, scalar) readonly buffer Matrix { float matrix[]; };
layout(set = 0, binding = kBindState, scalar) readonly restrict buffer State { float state[]; };
layout(set = 0, binding = kBindStatus, scalar) readonly restrict buffer Status { uint status[]; };
layout(set = 0, binding = kBindFirst, scalar) buffer First { float first[]; };
layout(set = 0, binding = kBindSecond, scalar) writeonly buffer Second { float second[]; };
layout(push_constant, scalar) uniform PushConstants { Params params; };

#if defined(INVERSE_SQRT_BEGIN)

void visit(uint i, uint block, uint row, uint column) {
    float identity = row == column ? 1.0 : 0.0;
    precise float damped = exact_flush(matrix[i]) + (row == column ? state[block] : 0.0);
    precise float scaled = damped * state[params.blocks + block];
    first[i] = status[block] == kNotConverged ? exact_flush(scaled) : identity;
    second[i] = identity;
}

#elif defined(INVERSE_SQRT_DIRECTION)

void visit(uint i, uint block, uint row, uint column) {
    uint word = status[block];
    bool iterates = (word & 0xFFu) <= kNotConverged && (word >> 8) == params.iteration;
    precise float half_product = exact_from_bits(kExactHalf) * first[i];
    precise float direction = (row == column ? exact_from_bits(kExactThreeHalves) : 0.0) - half_product;
    first[i] = iterates ? direction : row == column ? 1.0 : 0.0;
}

#else

void visit(uint i, uint block, uint row, uint column) {
    uint mirror = (block * params.n + column) * params.n + row;
    precise float sum = exact_from_bits(kExactHalf) * matrix[i] + exact_from_bits(kExactHalf) * matrix[mirror];
    precise float scaled = sum * state[2u * params.blocks + block];
    first[i] = (status[block] & 0xFFu) <= kNotConverged ? exact_flush(scaled) : 0.0;
}

#endif

void main() {
    uint i = (gl_WorkGroupID.x + gl_WorkGroupID.y * gl_NumWorkGroups.x) * WORKGROUP_SIZE + gl_LocalInvocationID.x;
    uint row = i / params.n;
    uint block = row / params.n;
    if (block < params.blocks) visit(i, block, row % params.n, i % params.n);
}
