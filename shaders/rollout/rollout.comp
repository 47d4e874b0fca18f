// SPDX-License-Identifier: Apache-2.0
// rollout: steps first_step ... first_step + step_count - 1 of every member's episodes in an environment
// (docs/kernels/rollout.md). Bindings, constants and their ranges: yolk/internal/abi/rollout.h; the environment's file is
// included by the name environment.glsl, which the build makes for each of them. One invocation per (member, episode);
// grid folded over x and y; no shared memory, no subgroup assumption. Scratch: one slot per invocation, written by the
// first dispatch, carried between dispatches. Class P: the same bits on every device for any configuration; the
// evaluation counters are integers. With ROLLOUT_FAST the policy's outputs are class T; the environment, given an
// action, stays class P. Loops per dispatch are counted by primitives/src/rollout_layout.cpp: change both
// together.
#version 460
#extension GL_EXT_scalar_block_layout : require
#extension GL_GOOGLE_include_directive : require
#extension GL_EXT_control_flow_attributes : require
#include "yolk/internal/abi/rollout.h"
#include "environment.glsl"
#include "philox.glsl"

layout(local_size_x_id = kSpecWorkgroupSize) in;
layout(constant_id = kSpecWorkgroupSize) const uint WORKGROUP_SIZE = 32;
layout(constant_id = kSpecParameterCount) const uint PARAMETER_COUNT = 450;
layout(constant_id = kSpecPrivateParameters) const uint PRIVATE_PARAMETERS = 0;
layout(constant_id = kSpecRank) const uint RANK = 1;
layout(constant_id = kSpecFrozen) const uint FROZEN = 0;
layout(constant_id = kSpecLayers) const uint LAYERS = 2;
layout(constant_id = kSpecWidth0) const uint WIDTH0 = kObservationCount;
layout(constant_id = kSpecWidth1) const uint WIDTH1 = 64;
layout(constant_id = kSpecWidth2) const uint WIDTH2 = kActionCount;
layout(constant_id = kSpecWidth3) const uint WIDTH3 = 1;
layout(constant_id = kSpecWidth4) const uint WIDTH4 = 1;
layout(constant_id = kSpecAntithetic) const uint ANTITHETIC = 1;

struct Slot {
    State state;
    float total;
    uint finished;
};

layout(set = 0, binding = kBindParameters, scalar) uniform Parameters { float values[kMaxParameterCount]; } parameters_;
layout(set = 0, binding = kBindReturns, scalar) writeonly restrict buffer Returns { float values[]; } returns_;
layout(set = 0, binding = kBindEvaluations, scalar) restrict buffer Evaluations { uint values[]; } evaluations_;
layout(set = 0, binding = kBindSlots, scalar) restrict buffer Slots { Slot values[]; } slots_;
layout(push_constant, scalar) uniform PushConstants { Params params; };

#ifdef ROLLOUT_PACKED
#include "packed_network.glsl"
#else
#include "policy_network.glsl"
#endif

const uint DOMAIN_ENVIRONMENT = 4u;

State start_of(uint episode) {
    return environment_reset(philox4x32(uvec4(0u, DOMAIN_ENVIRONMENT << 24, episode, params.generation),
                                        uvec2(params.seed_low, params.seed_high)));
}

void observe(State state) {
    float observation[kObservationCount];
    environment_observe(state, observation);
    LAYER_LOOP (uint i = 0u; i < kObservationCount; ++i) units_[i] = exact_flush_operand(observation[i]);
}

#ifdef ENVIRONMENT_CONTINUOUS
float action_[kActionCount];

StepResult act(inout State state) {
    uint outputs = FIRST_OUTPUT;
    LAYER_LOOP (uint a = 0u; a < kActionCount; ++a) {
        action_[a] = exact_continuous_action(POLICY_OUTPUTS[outputs + a], exact_from_bits(kActionLow[a]),
                                            exact_from_bits(kActionHigh[a]), kActionSquashed != 0u);
    }
    return environment_step(state, action_);
}
#else
// The index of the largest output, ties to the lower one.
StepResult act(inout State state) {
    uint outputs = FIRST_OUTPUT;
    uint action = 0u;
    float best = POLICY_OUTPUTS[outputs];
    LAYER_LOOP (uint a = 1u; a < kActionCount; ++a) {
        bool better = POLICY_OUTPUTS[outputs + a] > best;
        best = better ? POLICY_OUTPUTS[outputs + a] : best;
        action = better ? a : action;
    }
    return environment_step(state, action);
}
#endif

void main() {
    uint group = gl_WorkGroupID.x + gl_WorkGroupID.y * gl_NumWorkGroups.x;
    uint place = group * WORKGROUP_SIZE + gl_LocalInvocationID.x;
    if (place >= params.index_count) return;
    uint index = params.first_index + place;
    uint member = params.first_member + index % params.members;
    uint episode = params.first_episode + index / params.members;

    Slot slot;
    if (params.first_step == 0u) {
        slot.state = start_of(episode);
        slot.total = uintBitsToFloat(kExactZero);
        slot.finished = 0u;
    } else {
        slot = slots_.values[place];
    }

    uint side = (member & ANTITHETIC) << 31;  // a sign bit: member 2p is the positive side of pair p
    float matrix_scale = uintBitsToFloat(floatBitsToUint(params.matrix_scale) ^ side);
    prepare_policy(member >> ANTITHETIC, uintBitsToFloat(floatBitsToUint(params.vector_scale) ^ side));

    // A member that has finished takes no step, but does not return early: where all lanes of a subgroup have returned,
    // lavapipe of Mesa 26.1 still loads parameters, by a descriptor that no lane computed, and crashes.
    uint most = slot.finished == 0u ? params.step_count : 0u;
    uint steps = 0u;
    while (steps < most) {
        observe(slot.state);
        run_policy(matrix_scale);
        StepResult result = act(slot.state);
        precise float total = slot.total + result.reward;
        slot.total = total;
        ++steps;
        if (result.terminated) {
            if (params.never_stop != 0u) {
                slot.state = start_of(episode);
            } else {
                slot.finished = 1u;
                most = steps;
            }
        }
    }
    slots_.values[place] = slot;
    returns_.values[index] = slot.total;
    atomicAdd(evaluations_.values[index % kEvaluationCounters], steps);
}
