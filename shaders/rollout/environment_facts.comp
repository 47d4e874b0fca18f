// SPDX-License-Identifier: Apache-2.0
// What the host asks of an environment that is compiled at run time (docs/environments.md). Never dispatched: the
// compiler evaluates the constants and lays out State, and shaders/src/environments/environment_inspection.cpp reads both, and every
// instruction of the environment's functions, from the module. One name of the interface per line, in this order: an
// error in a line is told as that name's (shaders/src/environments/environment_messages.cpp).
#version 460
#extension GL_EXT_scalar_block_layout : require
#extension GL_GOOGLE_include_directive : require
#include "environment.glsl"
layout(constant_id = 0) const uint OBSERVATION_COUNT = kObservationCount;
layout(constant_id = 1) const uint ACTION_COUNT = kActionCount;
layout(constant_id = 2) const uint MAX_STEPS = kMaxSteps;
layout(constant_id = 3) const uint SOLVED_RETURN = kSolvedReturn;
layout(constant_id = 4) const uint BEST_RETURN = kBestReturn;
#ifdef ENVIRONMENT_CONTINUOUS
layout(constant_id = 5) const uint CONTINUOUS = 1u;
layout(constant_id = 6) const uint ACTION_SQUASHED = kActionSquashed;
layout(constant_id = 7) const uint LOW_COUNT = uint(kActionLow.length());
layout(constant_id = 8) const uint HIGH_COUNT = uint(kActionHigh.length());
// Of dimension i: constants 9 + 2 i and 10 + 2 i. A dimension that there is not has the last one's.
#define LOW(i) kActionLow[min(i, kActionLow.length() - 1)]
#define HIGH(i) kActionHigh[min(i, kActionHigh.length() - 1)]
#define BOUNDS(i)                                           \
    layout(constant_id = 9 + 2 * i) const uint LOW##i = LOW(i); \
    layout(constant_id = 10 + 2 * i) const uint HIGH##i = HIGH(i);
BOUNDS(0) BOUNDS(1) BOUNDS(2) BOUNDS(3) BOUNDS(4) BOUNDS(5) BOUNDS(6) BOUNDS(7)  // kActionLow, kActionHigh
BOUNDS(8) BOUNDS(9) BOUNDS(10) BOUNDS(11) BOUNDS(12) BOUNDS(13) BOUNDS(14) BOUNDS(15)  // kActionLow, kActionHigh
#endif
layout(set = 0, binding = 0, scalar) buffer EnvironmentFacts {
    State first;
    uint end;  // its offset is the size of State
    uvec4 words;
    uint action;  // like everything in the buffer, of any value: what an episode may bring is not known here
#ifdef ENVIRONMENT_CONTINUOUS
    float actions[kActionCount];
#endif
} environment_facts_;
void main() {
    environment_facts_.first = environment_reset(environment_facts_.words);
    float seen[kObservationCount];
    environment_observe(environment_facts_.first, seen);
#ifdef ENVIRONMENT_CONTINUOUS
    StepResult result = environment_step(environment_facts_.first, environment_facts_.actions);
#else
    StepResult result = environment_step(environment_facts_.first, environment_facts_.action % kActionCount);
#endif
    uint ends = OBSERVATION_COUNT + ACTION_COUNT + MAX_STEPS + SOLVED_RETURN + BEST_RETURN;
    environment_facts_.end = ends + floatBitsToUint(seen[0]) + floatBitsToUint(result.reward) + uint(result.terminated);
}
