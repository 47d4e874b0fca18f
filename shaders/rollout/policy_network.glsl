// SPDX-License-Identifier: Apache-2.0
// The perturbed policy network of one member: its noise and the forward pass, all in private memory. Included by
// rollout.comp only.
//   y = b' + x W^T + t A^T,  t = +-(sigma/sqrt(r)) (x B),  b' = b +- sigma V;  tanh between layers
// Class P under the operand rule: inputs, weights, biases, t and the results of tanh are zero or at least 2^-40. Each
// output is one chain: b', then the inputs ascending, then the rank columns ascending.
// With ROLLOUT_FAST class T: the same sums of multiply-adds that may be fused, no operand rule, and a cheaper tanh.

// ROLLOUT_UNROLL: loops over a layer are written out, so that every index into private memory is a constant. CPU
// drivers gather and scatter lane by lane at any other index.
#ifdef ROLLOUT_UNROLL
#define LAYER_LOOP [[unroll]] for
#else
#define LAYER_LOOP for
#endif

// Where each layer's pieces begin: outputs in units_; A [out, r], B [in, r], b' [out] in factors_; W [out, in], b [out]
// in the parameters.
const uint UNITS1 = WIDTH0;
const uint UNITS2 = UNITS1 + WIDTH1;
const uint UNITS3 = UNITS2 + WIDTH2;
const uint UNITS4 = UNITS3 + WIDTH3;
const uint UNIT_COUNT = UNITS4 + WIDTH4;
const uint FACTORS1 = (WIDTH0 + WIDTH1) * RANK + WIDTH1;
const uint FACTORS2 = FACTORS1 + (WIDTH1 + WIDTH2) * RANK + WIDTH2;
const uint FACTORS3 = FACTORS2 + (WIDTH2 + WIDTH3) * RANK + WIDTH3;
const uint FACTOR_COUNT = FACTORS3 + (WIDTH3 + WIDTH4) * RANK + WIDTH4;
const uint WEIGHTS1 = (WIDTH0 + 1u) * WIDTH1;
const uint WEIGHTS2 = WEIGHTS1 + (WIDTH1 + 1u) * WIDTH2;
const uint WEIGHTS3 = WEIGHTS2 + (WIDTH2 + 1u) * WIDTH3;
const uint PRIVATE_COUNT = 1u + PRIVATE_PARAMETERS * (PARAMETER_COUNT - 1u);

float units_[UNIT_COUNT];
float factors_[FACTOR_COUNT];
float private_parameters_[PRIVATE_COUNT];

const uint DOMAIN_A = 0u;
const uint DOMAIN_B = 1u;
const uint DOMAIN_VECTOR = 2u;

bool is_perturbed(uint parameter) { return (FROZEN >> parameter & 1u) == 0u; }

#ifdef ROLLOUT_FAST
#define OPERAND(value) (value)
#else
#define OPERAND(value) exact_flush_operand(value)
#endif

float parameter_operand(uint index) {
    if (PRIVATE_PARAMETERS != 0u) return private_parameters_[index];
    return OPERAND(parameters_.values[index]);
}

void copy_parameters() {
    if (PRIVATE_PARAMETERS == 0u) return;
    for (uint i = 0u; i < PARAMETER_COUNT; ++i) private_parameters_[i] = OPERAND(parameters_.values[i]);
}

void draw_word(uint word, uint to, uint room) {
    ivec2 noise = nibble_noise(word);
    factors_[to] = float(noise.x);
    if (room > 1u) factors_[to + 1u] = float(noise.y);
}

// Elements 0 ... count - 1 of a stream of the pair, as integers in floats, to factors_[to ...].
void draw(uint parameter, uint domain, uint pair, uint to, uint count) {
    for (uint first = 0u; first < count; first += 8u) {
        uvec4 words = philox4x32(uvec4(first / 8u, parameter | (domain << 24), pair, params.time),
                                 uvec2(params.seed_low, params.seed_high));
        uint room = count - first;
        draw_word(words.x, to + first, room);
        if (room > 2u) draw_word(words.y, to + first + 2u, room - 2u);
        if (room > 4u) draw_word(words.z, to + first + 4u, room - 4u);
        if (room > 6u) draw_word(words.w, to + first + 6u, room - 6u);
    }
}

void prepare_layer(uint layer, uint inputs, uint outputs, uint weights, uint factors, uint pair, float vector_scale) {
    uint matrix = 2u * layer;
    uint biases = factors + (outputs + inputs) * RANK;
    if (is_perturbed(matrix)) {
        draw(matrix, DOMAIN_A, pair, factors, outputs * RANK);
        draw(matrix, DOMAIN_B, pair, factors + outputs * RANK, inputs * RANK);
    }
    if (is_perturbed(matrix + 1u)) draw(matrix + 1u, DOMAIN_VECTOR, pair, biases, outputs);
    for (uint o = 0u; o < outputs; ++o) {
        precise float bias = parameter_operand(weights + inputs * outputs + o);
        if (is_perturbed(matrix + 1u)) bias = bias + vector_scale * factors_[biases + o];
        factors_[biases + o] = bias;
    }
}

void prepare_policy(uint pair, float vector_scale) {
    copy_parameters();
    prepare_layer(0u, WIDTH0, WIDTH1, 0u, 0u, pair, vector_scale);
    if (LAYERS > 1u) prepare_layer(1u, WIDTH1, WIDTH2, WEIGHTS1, FACTORS1, pair, vector_scale);
    if (LAYERS > 2u) prepare_layer(2u, WIDTH2, WIDTH3, WEIGHTS2, FACTORS2, pair, vector_scale);
    if (LAYERS > 3u) prepare_layer(3u, WIDTH3, WIDTH4, WEIGHTS3, FACTORS3, pair, vector_scale);
}

#ifdef ROLLOUT_FAST
#include "fast_tanh.glsl"

void apply_layer(uint layer, uint inputs, uint outputs, uint weights, uint factors, uint from, uint to,
                 float matrix_scale) {
    float projections[RANK];
    if (is_perturbed(2u * layer)) {
        LAYER_LOOP (uint column = 0u; column < RANK; ++column) {
            float sum = 0.0;
            LAYER_LOOP (uint i = 0u; i < inputs; ++i) {
                sum = fma(units_[from + i], factors_[factors + (outputs + i) * RANK + column], sum);
            }
            projections[column] = sum * matrix_scale;
        }
    }
    LAYER_LOOP (uint o = 0u; o < outputs; ++o) {
        float sum = factors_[factors + (outputs + inputs) * RANK + o];
        LAYER_LOOP (uint i = 0u; i < inputs; ++i) {
            sum = fma(units_[from + i], parameter_operand(weights + o * inputs + i), sum);
        }
        if (is_perturbed(2u * layer)) {
            LAYER_LOOP (uint column = 0u; column < RANK; ++column) {
                sum = fma(projections[column], factors_[factors + o * RANK + column], sum);
            }
        }
        units_[to + o] = layer + 1u < LAYERS ? fast_tanh(sum) : sum;
    }
}
#else
void apply_layer(uint layer, uint inputs, uint outputs, uint weights, uint factors, uint from, uint to,
                 float matrix_scale) {
    float projections[RANK];
    if (is_perturbed(2u * layer)) {
        LAYER_LOOP (uint column = 0u; column < RANK; ++column) {
            precise float sum = uintBitsToFloat(kExactZero);
            LAYER_LOOP (uint i = 0u; i < inputs; ++i) {
                sum = sum + units_[from + i] * factors_[factors + (outputs + i) * RANK + column];
            }
            precise float projection = sum * matrix_scale;
            projections[column] = exact_flush_operand(projection);
        }
    }
    LAYER_LOOP (uint o = 0u; o < outputs; ++o) {
        precise float sum = factors_[factors + (outputs + inputs) * RANK + o];
        LAYER_LOOP (uint i = 0u; i < inputs; ++i) {
            sum = sum + units_[from + i] * parameter_operand(weights + o * inputs + i);
        }
        if (is_perturbed(2u * layer)) {
            LAYER_LOOP (uint column = 0u; column < RANK; ++column) {
                sum = sum + projections[column] * factors_[factors + o * RANK + column];
            }
        }
        units_[to + o] = layer + 1u < LAYERS ? exact_tanh(sum) : sum;
    }
}
#endif

// From the observation in units_[0 ...] to the outputs.
void run_policy(float matrix_scale) {
    apply_layer(0u, WIDTH0, WIDTH1, 0u, 0u, 0u, UNITS1, matrix_scale);
    if (LAYERS > 1u) apply_layer(1u, WIDTH1, WIDTH2, WEIGHTS1, FACTORS1, UNITS1, UNITS2, matrix_scale);
    if (LAYERS > 2u) apply_layer(2u, WIDTH2, WIDTH3, WEIGHTS2, FACTORS2, UNITS2, UNITS3, matrix_scale);
    if (LAYERS > 3u) apply_layer(3u, WIDTH3, WIDTH4, WEIGHTS3, FACTORS3, UNITS3, UNITS4, matrix_scale);
}

// Where the outputs lie.
#define POLICY_OUTPUTS units_
#define FIRST_OUTPUT (LAYERS == 1u ? UNITS1 : LAYERS == 2u ? UNITS2 : LAYERS == 3u ? UNITS3 : UNITS4)
