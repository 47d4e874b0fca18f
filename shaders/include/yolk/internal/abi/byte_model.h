// SPDX-License-Identifier: Apache-2.0
// ABI of the byte_model family (docs/kernels/byte_model.md): byte_model_prepare packs the weights and draws the noise
// of some pairs, byte_model reads bytes with their members. Both take the same bindings and parameters. All offsets and
// sizes of the scratch in words of four bytes; a packed word has its lowest element in its lowest byte.
#ifndef YOLK_ABI_BYTE_MODEL_H
#define YOLK_ABI_BYTE_MODEL_H
#include "yolk/internal/abi/prelude.h"
ABI_BEGIN(byte_model)

ABI_CONST uint kBindParameters = 0;  // fp32 [element_count], integers from -127 to 127
ABI_CONST uint kBindText = 1;        // bytes, four to a word
ABI_CONST uint kBindReturns = 2;     // out: fp32 [members]
ABI_CONST uint kBindScratch = 3;     // weights, noise [pairs], states [members], scores [members]
ABI_CONST uint kBindingCount = 4;
ABI_CONST uint kUniformMask = 0;

ABI_CONST uint kSpecWorkgroupSize = 0;  // 1 ... 256
ABI_CONST uint kSpecWidth = 1;          // 8 ... 256, a multiple of 8
ABI_CONST uint kSpecLayers = 2;         // 1 ... 16
ABI_CONST uint kSpecRank = 3;           // 1, 4 or 16
ABI_CONST uint kSpecPairs = 4;          // 1, 2 or 4: of a workgroup
ABI_CONST uint kSpecSymmetric = 5;      // 1: rounds to nearest, 0: to minus infinity
ABI_CONST uint kSpecMeanOnly = 6;       // 1: no member is perturbed

struct Params {
    uint seed_low;
    uint seed_high;
    uint time;
    uint first_pair;    // whose noise is first in the scratch
    uint pair_count;    // in this dispatch
    uint members;       // in this dispatch: twice as many, or one less
    uint first_result;  // of this dispatch, in the returns
    uint first_member;  // of this dispatch, in the population
    uint group;         // members that read one stretch
    uint span;          // positions at which a stretch may begin
    uint distance;      // between two stretches
    uint advance;       // of this generation
    uint context;       // bytes that are read and not scored
    uint first_step;
    uint step_count;
    uint last_step;  // of context and scored bytes; the dispatch that has it writes the returns
    uint sigma_shift;
    uint matrix_shift;  // 4 + sigma_shift, and what 1/sqrt(rank) shifts by
    uint root;          // the whole part of sqrt(width), and ceil(2^19 / root)
    uint magic;
    uint wide_root;  // of 4 width
    uint wide_magic;
    uint weight_words;  // the scratch begins with them
    uint noise_words;   // of a pair
    uint first_state;   // in the scratch
    uint first_score;
};

ABI_END
#endif
