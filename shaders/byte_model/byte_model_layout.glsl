// SPDX-License-Identifier: Apache-2.0
// What both kernels of the byte model declare, and where its parameters lie in the scratch. Weights: a vector's words in
// their order; of a matrix [rows, n] the word (k, row) at 4 (k rows/4 + row/4) + row%4, so that invocations with
// neighbouring rows read neighbouring words. Noise of a pair: of each matrix A as [rank, rows], then B as [rank, n]; of
// each vector its elements.
#ifndef YOLK_BYTE_MODEL_LAYOUT_GLSL
#define YOLK_BYTE_MODEL_LAYOUT_GLSL
#include "yolk/internal/abi/byte_model.h"
#include "yolk/exact/exact_bytes.h"
#include "yolk/exact/exact_integers.h"

layout(local_size_x_id = kSpecWorkgroupSize) in;
layout(constant_id = kSpecWorkgroupSize) const uint WORKGROUP_SIZE = 32;
layout(constant_id = kSpecWidth) const uint WIDTH = 64;
layout(constant_id = kSpecLayers) const uint LAYERS = 1;
layout(constant_id = kSpecRank) const uint RANK = 1;
layout(constant_id = kSpecPairs) const uint PAIRS = 1;
layout(constant_id = kSpecSymmetric) const uint SYMMETRIC = 0;
layout(constant_id = kSpecMeanOnly) const uint MEAN_ONLY = 0;

layout(push_constant, scalar) uniform PushConstants { Params params; };

// Words of a row of WIDTH elements, of a square matrix, of one that widens, of the embedding and the head.
const uint ROW = WIDTH / 4u;
const uint SQUARE = WIDTH * ROW;
const uint WIDE = 4u * SQUARE;
const uint TABLE = kByteValues * ROW;

// Of a layer's weights, from its first word on.
const uint W_GATE_INPUT = ROW;
const uint W_GATE_STATE = W_GATE_INPUT + SQUARE;
const uint W_GATE_BIAS = W_GATE_STATE + SQUARE;
const uint W_NEW_INPUT = W_GATE_BIAS + ROW;
const uint W_NEW_STATE = W_NEW_INPUT + SQUARE;
const uint W_NEW_BIAS = W_NEW_STATE + SQUARE;
const uint W_NORM2 = W_NEW_BIAS + ROW;
const uint W_UP = W_NORM2 + ROW;
const uint W_DOWN = W_UP + WIDE;
const uint W_LAYER = W_DOWN + WIDE;

// Of a layer's noise. Both factors of a square matrix, of the others.
const uint N_SQUARE = 2u * ROW * RANK;
const uint N_WIDE = 5u * ROW * RANK;
const uint N_TABLE = (kByteValues / 4u + ROW) * RANK;
const uint N_GATE_INPUT = ROW;
const uint N_GATE_STATE = N_GATE_INPUT + N_SQUARE;
const uint N_GATE_BIAS = N_GATE_STATE + N_SQUARE;
const uint N_NEW_INPUT = N_GATE_BIAS + ROW;
const uint N_NEW_STATE = N_NEW_INPUT + N_SQUARE;
const uint N_NEW_BIAS = N_NEW_STATE + N_SQUARE;
const uint N_NORM2 = N_NEW_BIAS + ROW;
const uint N_UP = N_NORM2 + ROW;
const uint N_DOWN = N_UP + N_WIDE;
const uint N_LAYER = N_DOWN + N_WIDE;

// Parameters of a layer, which follow the embedding's.
const uint LAYER_PARAMETERS = 10u;

#endif
