// SPDX-License-Identifier: Apache-2.0
// The perturbed policy of one member as GPUs want it: a network with one hidden layer, in registers. Included by
// rollout.comp only, in place of policy_network.glsl, whose formula and order it keeps, so the bits are the same.
// - Noise is kept as bytes, four to a word, and turned into floats where it is needed. In floats 4-64-2 takes 200
//   registers, more than most GPUs have for a quarter of their waves; in bytes 54.
// - A hidden unit goes into the outputs' sums as soon as it is known, so none is stored.
// - Every index is a constant after unrolling: GPUs keep an array that is indexed otherwise in scratch memory. Where
//   nothing is perturbed (the mean) there is no array, and the loop over units stays one.
// Loops are counted by packed_loop_cost (primitives/src/rollout/rollout_layout.cpp): change both together.
#include "packed_bytes.glsl"

#define LAYER_LOOP [[unroll]] for
#ifdef ROLLOUT_FAST
#define OPERAND(value) (value)
#else
#define OPERAND(value) exact_flush_operand(value)
#endif

const uint INPUTS = WIDTH0;
const uint HIDDEN = WIDTH1;
const uint OUTPUTS = WIDTH2;
// Where the parameters begin: W1 [HIDDEN, INPUTS], b1 [HIDDEN], W2 [OUTPUTS, HIDDEN], b2 [OUTPUTS].
const uint BIAS1 = HIDDEN * INPUTS;
const uint WEIGHTS2 = BIAS1 + HIDDEN;
const uint BIAS2 = WEIGHTS2 + OUTPUTS * HIDDEN;

const bool MATRIX1 = (FROZEN & 1u) == 0u;
const bool VECTOR1 = (FROZEN & 2u) == 0u;
const bool MATRIX2 = (FROZEN & 4u) == 0u;
const bool VECTOR2 = (FROZEN & 8u) == 0u;
const bool HIDDEN_NOISE = MATRIX1 || VECTOR1 || MATRIX2;

// Words of a stream's `elements`, in whole noise blocks; 1 where there are none, for no array is empty.
#define WORDS(is_perturbed, elements) ((is_perturbed) ? ((elements) + 7u) / 8u * 2u : 1u)
const uint A1_WORDS = WORDS(MATRIX1, HIDDEN * RANK);
const uint B1_WORDS = WORDS(MATRIX1, INPUTS * RANK);
const uint V1_WORDS = WORDS(VECTOR1, HIDDEN);
const uint A2_WORDS = WORDS(MATRIX2, OUTPUTS * RANK);
const uint B2_WORDS = WORDS(MATRIX2, HIDDEN * RANK);
const uint V2_WORDS = WORDS(VECTOR2, OUTPUTS);
uint a1_[A1_WORDS];
uint b1_[B1_WORDS];
uint v1_[V1_WORDS];
uint a2_[A2_WORDS];
uint b2_[B2_WORDS];
uint v2_[V2_WORDS];
float units_[INPUTS];  // the observation
float outputs_[OUTPUTS];
float projections1_[RANK];
float projections2_[RANK];
float vector_scale_;

const uint DOMAIN_A = 0u << 24;
const uint DOMAIN_B = 1u << 24;
const uint DOMAIN_VECTOR = 2u << 24;

#define DRAW(target, words, parameter_and_domain)                                                \
    [[unroll]] for (uint at = 0u; at < words; at += 2u) {                                        \
        uvec4 drawn = philox4x32(uvec4(at / 2u, parameter_and_domain, pair, params.time), seed); \
        target[at] = pack_noise(drawn.x, drawn.y);                                                     \
        target[at + 1u] = pack_noise(drawn.z, drawn.w);                                                \
    }

#define NOISE(source, element) packed_noise(source[(element) / 4u], (element) % 4u)

void prepare_policy(uint pair, float vector_scale) {
    uvec2 seed = uvec2(params.seed_low, params.seed_high);
    vector_scale_ = vector_scale;
    if (MATRIX1) {
        DRAW(a1_, A1_WORDS, 0u | DOMAIN_A)
        DRAW(b1_, B1_WORDS, 0u | DOMAIN_B)
    }
    if (VECTOR1) DRAW(v1_, V1_WORDS, 1u | DOMAIN_VECTOR)
    if (MATRIX2) {
        DRAW(a2_, A2_WORDS, 2u | DOMAIN_A)
        DRAW(b2_, B2_WORDS, 2u | DOMAIN_B)
    }
    if (VECTOR2) DRAW(v2_, V2_WORDS, 3u | DOMAIN_VECTOR)
}

float parameter_operand(uint index) { return OPERAND(parameters_.values[index]); }

#ifdef ROLLOUT_FAST
#include "fast_tanh.glsl"
#define ADD_PRODUCT(sum, left, right) sum = fma(left, right, sum)
#define ACTIVATE(sum) fast_tanh(sum)
#else
#define ADD_PRODUCT(sum, left, right) sum = sum + (left) * (right)
#define ACTIVATE(sum) exact_tanh(sum)
#endif

// One hidden unit, from the observation into the sums of layer 2.
void add_unit(uint unit) {
    precise float sum = parameter_operand(BIAS1 + unit);
    if (VECTOR1) sum = sum + vector_scale_ * NOISE(v1_, unit);
    [[unroll]] for (uint i = 0u; i < INPUTS; ++i) {
        ADD_PRODUCT(sum, units_[i], parameter_operand(unit * INPUTS + i));
    }
    if (MATRIX1) {
        [[unroll]] for (uint column = 0u; column < RANK; ++column) {
            ADD_PRODUCT(sum, projections1_[column], NOISE(a1_, unit * RANK + column));
        }
    }
    float value = ACTIVATE(sum);
    [[unroll]] for (uint o = 0u; o < OUTPUTS; ++o) {
        precise float total = outputs_[o];
        ADD_PRODUCT(total, value, parameter_operand(WEIGHTS2 + o * HIDDEN + unit));
        outputs_[o] = total;
    }
    if (MATRIX2) {
        [[unroll]] for (uint column = 0u; column < RANK; ++column) {
            precise float projection = projections2_[column];
            ADD_PRODUCT(projection, value, NOISE(b2_, unit * RANK + column));
            projections2_[column] = projection;
        }
    }
}

void project_observation(float matrix_scale) {
    [[unroll]] for (uint column = 0u; column < RANK; ++column) {
        precise float sum = uintBitsToFloat(kExactZero);
        [[unroll]] for (uint i = 0u; i < INPUTS; ++i) ADD_PRODUCT(sum, units_[i], NOISE(b1_, i * RANK + column));
        precise float projection = sum * matrix_scale;
        projections1_[column] = OPERAND(projection);
    }
}

void add_low_rank(float matrix_scale) {
    [[unroll]] for (uint column = 0u; column < RANK; ++column) {
        precise float projection = projections2_[column] * matrix_scale;
        projection = OPERAND(projection);
        [[unroll]] for (uint o = 0u; o < OUTPUTS; ++o) {
            precise float total = outputs_[o];
            ADD_PRODUCT(total, projection, NOISE(a2_, o * RANK + column));
            outputs_[o] = total;
        }
    }
}

// From the observation in units_ to the outputs.
void run_policy(float matrix_scale) {
    if (MATRIX1) project_observation(matrix_scale);
    [[unroll]] for (uint o = 0u; o < OUTPUTS; ++o) {
        precise float bias = parameter_operand(BIAS2 + o);
        if (VECTOR2) bias = bias + vector_scale_ * NOISE(v2_, o);
        outputs_[o] = bias;
    }
    [[unroll]] for (uint column = 0u; column < RANK; ++column) projections2_[column] = uintBitsToFloat(kExactZero);
    if (HIDDEN_NOISE) {
        [[unroll]] for (uint unit = 0u; unit < HIDDEN; ++unit) add_unit(unit);
    } else {
        for (uint unit = 0u; unit < HIDDEN; ++unit) add_unit(unit);
    }
    if (MATRIX2) add_low_rank(matrix_scale);
}

#define POLICY_OUTPUTS outputs_
#define FIRST_OUTPUT 0u
