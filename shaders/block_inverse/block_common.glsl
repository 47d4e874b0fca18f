// SPDX-License-Identifier: Apache-2.0
// Bindings and state that the kernels of block_inverse share. Not restrict: bindings that a kernel does not use may be
// bound to the state.
#include "yolk/internal/abi/block_inverse.h"
#include "yolk/exact/block_scaling.h"

#ifndef BLOCK_STATE
#define BLOCK_STATE
#endif

layout(local_size_x_id = kSpecWorkgroupSize) in;
layout(constant_id = kSpecWorkgroupSize) const uint WORKGROUP_SIZE = 64;
layout(set = 0, binding = kBindIn, scalar) readonly buffer In { float in_[]; };
layout(set = 0, binding = kBindDamping, scalar) readonly buffer Damping { float damping[]; };
layout(set = 0, binding = kBindOut, scalar) buffer Out { uint out_[]; };
layout(set = 0, binding = kBindStatus, scalar) writeonly buffer Status { uint status[]; };
layout(set = 0, binding = kBindResidual, scalar) writeonly buffer Residual { uint residual[]; };
layout(set = 0, binding = kBindState, scalar) BLOCK_STATE buffer State { uint state[]; };
#ifdef BLOCK_WORK4
layout(set = 0, binding = kBindWork4, scalar) buffer Work4 { vec4 work4[]; };
#endif
#ifdef BLOCK_WORK
layout(set = 0, binding = kBindWork, scalar) BLOCK_WORK buffer Work { float work[]; };
#endif
layout(push_constant, scalar) uniform PushConstants { Params params; };

uint linear_group() { return gl_WorkGroupID.x + gl_WorkGroupID.y * gl_NumWorkGroups.x; }
uint linear_invocation() { return linear_group() * WORKGROUP_SIZE + gl_LocalInvocationID.x; }

uint state_of(uint block) { return block * (kStateHeader + 2u * params.padded_n); }
uint scales_of(uint block) { return state_of(block) + kStateHeader; }
uint rows_of(uint block) { return scales_of(block) + params.padded_n; }
uint work_of(uint block) { return block * params.padded_n * params.padded_n * 2u; }

// Where the number of blocks of an attempt stands, and their list.
uint count_of(uint attempt) { return state_of(params.blocks) + attempt; }
uint list_of(uint attempt) { return state_of(params.blocks) + kCounts + (attempt & 1u) * params.blocks; }
// How many blocks this attempt has, and which they are: in the first one all of the window.
uint attempt_blocks() { return params.attempt == 0u ? params.blocks : state[count_of(params.attempt)]; }
uint attempt_block(uint slot) { return params.attempt == 0u ? slot : state[list_of(params.attempt) + slot]; }

// Items of this attempt, `per_block` for each of its blocks. Retries are rare, and lavapipe goes through a kernel's
// body whether or not an invocation has anything to do: so they have few invocations, which take more items if need
// be.
#define FOR_EACH_ITEM(per_block)                                              \
    for (uint index = linear_invocation(); index < attempt_blocks() * (per_block); \
         index += params.invocations)

// Whether this dispatch is about the block: it has no status yet, and this is its attempt.
bool is_live(uint block) {
    uint at = state_of(block);
    return state[at + kStateCode] == kLive && state[at + kStateAttempt] == params.attempt;
}
int exponent_of(uint block) { return int(state[state_of(block) + kStateExponent]); }
float added_of(uint block) { return uintBitsToFloat(state[state_of(block) + kStateAdded]); }
float mean_of(uint block) { return uintBitsToFloat(state[state_of(block) + kStateMean]); }
bool has_inverse(uint code) { return (code & 0xFFu) <= kStatusDamped; }

uint in_of(uint block) { return params.in_offset + block * params.n * params.n; }
// Element (i, j) of a block that begins at `base`; the lower triangle stands for both.
float element_of(uint base, uint i, uint j) { return in_[base + max(i, j) * params.n + min(i, j)]; }
// The diagonal element (i, i) of the scaled block; without damping it keeps what is below 2^-40 of the largest.
float scaled_diagonal(float x, int exponent, float added, int h) {
    if (added == 0.0) return block_operand(x, -exponent - 2 * h);
    return block_operand(block_damped(x, exponent, added), -2 * h);
}

// What becomes of a block after an attempt, from the verdict on its first pivot that is not good.
void conclude(uint block, uint verdict) {
    uint at = state_of(block);
    uint attempt = state[at + kStateAttempt];
    uint code = attempt == 0u ? kStatusOk : kStatusDamped;
    if (verdict == kPivotNegative) code = kStatusIndefinite;
    if (verdict == kPivotZero) code = kStatusSingular;
    if (verdict == kPivotUnheld) code = kStatusNotFinite;
    bool again = verdict == kPivotZero && attempt < params.retries;
    if (again) {
        float added = block_added(attempt + 1u, uintBitsToFloat(state[at + kStateDamping]),
                                  uintBitsToFloat(state[at + kStateMean]));
        state[at + kStateAttempt] = attempt + 1u;
        state[at + kStateAdded] = floatBitsToUint(added);
        uint slot = atomicAdd(state[count_of(attempt + 1u)], 1u);
        state[list_of(attempt + 1u) + slot] = block;
    } else {
        state[at + kStateCode] = code | attempt << kRetriesShift;
    }
}

// Of pivot d, whose row of the inverse of L has the squared length norm: d / norm is the Rayleigh quotient of that row.
uint verdict_on(float d, float norm) {
    precise float limit = params.tolerance * norm;
    return mix(mix(kPivotZero, kPivotNegative, d < -limit), kPivotGood, d > limit);
}
