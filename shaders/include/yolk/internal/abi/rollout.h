// SPDX-License-Identifier: Apache-2.0
// ABI of the rollout family (docs/kernels/rollout.md): one invocation per (member, episode),
// index = episode * members + (member - first_member).
#ifndef YOLK_ABI_ROLLOUT_H
#define YOLK_ABI_ROLLOUT_H
#include "yolk/internal/abi/prelude.h"
ABI_BEGIN(rollout)

ABI_CONST uint kBindParameters = 0;   // uniform: fp32 [PARAMETER_COUNT]
ABI_CONST uint kBindReturns = 1;      // out: fp32 [episodes, members]
ABI_CONST uint kBindEvaluations = 2;  // in and out: uint32 [kEvaluationCounters], and with a normalizer, where members
                                      // are perturbed, [members of the call, observations, kExactObservationWords]
ABI_CONST uint kBindSlots = 3;        // scratch: per index of the dispatch the environment's state, the return so far, a flag
ABI_CONST uint kBindMemories = 4;     // scratch, the same buffer: behind index_count slots, fp32 [index_count, RECURRENT]
ABI_CONST uint kBindingCount = 5;
ABI_CONST uint kUniformMask = 1u << kBindParameters;

ABI_CONST uint kSpecWorkgroupSize = 0;      // 1 ... 256
ABI_CONST uint kSpecParameterCount = 1;     // 2 ... kMaxParameterCount: elements of the network's parameters
ABI_CONST uint kSpecPrivateParameters = 2;  // 1: each invocation copies the parameters to private memory first
ABI_CONST uint kSpecRank = 3;               // 1 ... 32
ABI_CONST uint kSpecFrozen = 4;             // bit p: parameter p is not perturbed; all ones: the unperturbed policy
ABI_CONST uint kSpecLayers = 5;             // 1 ... kMaxLayers
ABI_CONST uint kSpecWidth0 = 6;             // widths, each 1 ... 256; those past the last layer are 1
ABI_CONST uint kSpecWidth1 = 7;
ABI_CONST uint kSpecWidth2 = 8;
ABI_CONST uint kSpecWidth3 = 9;
ABI_CONST uint kSpecWidth4 = 10;
ABI_CONST uint kSpecAntithetic = 11;        // 1: both sides of a pair share noise; 0: each member has its own
ABI_CONST uint kSpecRecurrent = 12;         // 0: no recurrent layer; else its units, 1 ... 256
ABI_CONST uint kSpecSlotWords = 13;         // words of a slot
ABI_CONST uint kSpecNormalizer = 14;        // parameter element where the observations' shifts begin, then scales; 0: none

ABI_CONST uint kMaxLayers = 4;  // without the recurrent one
ABI_CONST uint kMaxParameterCount = 16384;  // 64 KiB, the uniform range of the portable floor
ABI_CONST uint kEvaluationCounters = 256;

struct Params {
    uint seed_low;
    uint seed_high;
    uint generation;     // times the environment's resets
    uint time;           // times the noise
    uint members;        // of this call: [first_member, first_member + members)
    uint episodes;
    uint first_member;
    uint first_episode;
    uint first_step;     // of this dispatch; 0 starts the episodes
    uint step_count;
    uint first_index;    // of this dispatch's slots, which are counted from 0
    uint index_count;
    uint never_stop;     // 1: an episode that ends starts again and goes on counting
    float matrix_scale;  // sigma / sqrt(rank) / 85, an operand (docs/kernels/exact_math.md)
    float vector_scale;  // sigma / sqrt(85), an operand
};

ABI_END
#endif
