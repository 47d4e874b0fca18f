// SPDX-License-Identifier: Apache-2.0
// ABI of the perturbed_network family (docs/kernels/perturbed_network.md): up to four perturbed layers of member
// first_member + m, one behind the other. Layer l has the weights [WIDTH l+1, WIDTH l].
#ifndef YOLK_ABI_PERTURBED_NETWORK_H
#define YOLK_ABI_PERTURBED_NETWORK_H
#include "yolk/internal/abi/activation.h"
#include "yolk/internal/abi/prelude.h"
ABI_BEGIN(perturbed_network)

ABI_CONST uint kMostLayers = 4;

ABI_CONST uint kBindInput = 0;    // x: fp32 [rows, WIDTH0] where shared, else [members, rows, WIDTH0]
ABI_CONST uint kBindOut = 1;      // fp32 [members, rows, last width]
ABI_CONST uint kBindWeights0 = 2;  // of each layer; past the last one those of layer 0
ABI_CONST uint kBindWeights1 = 3;
ABI_CONST uint kBindWeights2 = 4;
ABI_CONST uint kBindWeights3 = 5;
ABI_CONST uint kBindBias0 = 6;  // likewise; weights of layer 0 where a layer has no bias
ABI_CONST uint kBindBias1 = 7;
ABI_CONST uint kBindBias2 = 8;
ABI_CONST uint kBindBias3 = 9;
ABI_CONST uint kBindingCount = 10;
ABI_CONST uint kUniformMask = 0xFFu << kBindWeights0;

ABI_CONST uint kSpecWorkgroupSize = 0;  // 1 ... 256
ABI_CONST uint kSpecRows = 1;           // of a member, that an invocation serves with noise drawn once
ABI_CONST uint kSpecRank = 2;           // 1 ... 32
ABI_CONST uint kSpecLayers = 3;         // 1 ... 4
ABI_CONST uint kSpecWidth0 = 4;         // inputs, then outputs of each layer; 0 past the last one
ABI_CONST uint kSpecWidth1 = 5;
ABI_CONST uint kSpecWidth2 = 6;
ABI_CONST uint kSpecWidth3 = 7;
ABI_CONST uint kSpecWidth4 = 8;
ABI_CONST uint kSpecActivation0 = 9;  // of each layer, yolk/internal/abi/activation.h
ABI_CONST uint kSpecActivation1 = 10;
ABI_CONST uint kSpecActivation2 = 11;
ABI_CONST uint kSpecActivation3 = 12;
ABI_CONST uint kSpecBiases = 13;        // bit l: layer l has a bias
ABI_CONST uint kSpecInputIsShared = 14;
ABI_CONST uint kSpecAntithetic = 15;  // 1: both sides of a pair share noise; 0: each member has its own
ABI_CONST uint kSpecBothSides = 16;   // 1: an invocation serves both sides of a pair; with kSpecAntithetic

// Elements that a uniform binding is declared with.
ABI_CONST uint kUniformElements = 1024;

struct Params {
    uint seed_low;
    uint seed_high;
    uint time;
    int first_member;
    uint members;
    uint rows;
    float scale;         // sigma / sqrt(rank) / 85, zero or at least 2^-40
    float vector_scale;  // sigma / sqrt(85), likewise
    uint weights0;       // parameters, whose streams are those of their domains
    uint weights1;
    uint weights2;
    uint weights3;
    uint bias0;
    uint bias1;
    uint bias2;
    uint bias3;
    float zero;  // +0, which chains begin with
};

ABI_END
#endif
