// SPDX-License-Identifier: Apache-2.0
// ABI of the fitness family (docs/kernels/fitness.md). All its kernels take the same bindings and parameters.
#ifndef YOLK_ABI_FITNESS_H
#define YOLK_ABI_FITNESS_H
#include "yolk/internal/abi/fitness_summary.h"
ABI_BEGIN(fitness)

ABI_CONST uint kBindReturns = 0;  // fp32 [episodes, population]
ABI_CONST uint kBindScores = 1;   // out: fp32 [population]
ABI_CONST uint kBindWeights = 2;  // out: int8, four to a word, or fp32; one per pair, or per member without antithetic sampling
ABI_CONST uint kBindSummary = 3;  // out: Summary
ABI_CONST uint kBindState = 4;    // scratch: uint32, kState... and what follows them
ABI_CONST uint kBindingCount = 5;
ABI_CONST uint kUniformMask = 0;

ABI_CONST uint kSpecWorkgroupSize = 0;  // 1 ... 256
ABI_CONST uint kSpecRule = 1;           // kRule...
ABI_CONST uint kSpecRobust = 2;         // 0 or 1
ABI_CONST uint kSpecAntithetic = 3;     // 1: members come in pairs; 0: each has noise, and a weight, of its own

ABI_CONST uint kRulePairDifference = 0;
ABI_CONST uint kRulePairSign = 1;
ABI_CONST uint kRuleCentredRank = 2;
ABI_CONST uint kRuleZScore = 3;
ABI_CONST uint kRuleGroupZScore = 4;

// Words of the state, zero before the first kernel; maxima unless said otherwise, so that zero is neutral.
ABI_CONST uint kStateMagnitude = 0;       // bits of the largest finite |score|
ABI_CONST uint kStateBest = 1;            // ordered key (fitness_state.glsl) of the best finite score
ABI_CONST uint kStateWorst = 2;           // complement of the ordered key of the worst
ABI_CONST uint kStateNotFinite = 3;       // count
ABI_CONST uint kStateFirstNotFinite = 4;  // complement of the lowest such member
ABI_CONST uint kStateDifference = 5;      // bits of the largest |f+ - f-| in units of 2^E; ranks: the integer itself (or the largest |rank|)
ABI_CONST uint kStateNonZero = 6;         // count of pairs with a difference
ABI_CONST uint kStateScale = 7;           // robust: the magnitude that becomes 127; not a maximum, written once
ABI_CONST uint kStateRemaining = 8;       // robust: position of the median among those that share the prefix
ABI_CONST uint kStatePrefix = 9;          // robust: leading digits of the median's bits
ABI_CONST uint kStateSum = 10;            // 2 limbs of 16 bits: quantized scores, kSumOffset per invocation added
ABI_CONST uint kStateSquares = 12;        // 4 limbs of 16 bits: sum of their squares
ABI_CONST uint kStateRankSquares = 16;    // 4 limbs of 16 bits: sum of the squares of doubled centred ranks
ABI_CONST uint kStateHistogram = 32;      // robust, sort: 4 histograms of 256 bins, one per value of Params::digit
// Ranks: doubled centred rank + population, per member; the sort has its keys there before, behind them a second array
// of keys and 256 counters per tile. Groups: kGroupLimbs limbs per group.
ABI_CONST uint kStateArray = 1056;

ABI_CONST uint kGroupLimbs = 3;               // of 12 bits: sum of (quantized score + 2^25)
ABI_CONST uint kMaxMembersPerInvocation = 32;  // so that an invocation's sum of quantized scores stays below kSumOffset
ABI_CONST uint kMaxInvocations = 32768;       // so that a limb's sum stays below 2^31
ABI_CONST uint kSumOffset = 0x40000000u;      // 2^30

struct Params {
    uint population;
    uint episodes;
    uint invocation_count;  // items (members, pairs or words) are strided by it
    uint group_size;        // 1 where there are no groups
    uint tile_length;       // sort: keys per tile; the last tile may have fewer
    uint tile_count;
    uint digit;             // robust: 0 is the most significant; sort: the least
    float reciprocal_episodes;
    float reciprocal_population;
    float reciprocal_group_size;
};

ABI_END
#endif
