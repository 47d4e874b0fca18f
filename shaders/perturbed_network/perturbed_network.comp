// SPDX-License-Identifier: Apache-2.0
// perturbed_network: up to four layers of perturbed_linear for every member, each with a perturbed bias and an
// activation, without storing what lies between. Layout, bindings, constants:
// yolk/internal/abi/perturbed_network.h. No scratch.
// Work: one invocation serves ROWS rows of a member, or of both sides of a pair, with noise that it draws once. Layers
// are written out, so that every index into private memory is a constant. No subgroup assumption, no shared memory.
// Exactness: every value is made as the kernels of perturbed_linear, perturbed_vector and elementwise make it, in the
// same order: class P by their rules. A chain begins at +0, so that no sum is -0. Written out, it would begin at a
// constant, and drivers leave out an addition to a zero that they know, so that terms of -0 stay it. So the zero comes
// with the parameters. With NETWORK_FAST class T: multiply-adds of layers may be fused.
// Loops (after unrolling): ROWS iterations, for each side.
#version 460
#extension GL_EXT_control_flow_attributes : require
#extension GL_EXT_scalar_block_layout : require
#extension GL_GOOGLE_include_directive : require
#include "yolk/internal/abi/perturbed_network.h"
#include "yolk/exact/exact_elementwise.h"
#include "philox.glsl"

layout(local_size_x_id = kSpecWorkgroupSize) in;
layout(constant_id = kSpecWorkgroupSize) const uint WORKGROUP_SIZE = 64;
layout(constant_id = kSpecRows) const uint ROWS = 1;
layout(constant_id = kSpecRank) const uint RANK = 1;
layout(constant_id = kSpecLayers) const uint LAYERS = 1;
layout(constant_id = kSpecWidth0) const uint WIDTH0 = 1;
layout(constant_id = kSpecWidth1) const uint WIDTH1 = 1;
layout(constant_id = kSpecWidth2) const uint WIDTH2 = 0;
layout(constant_id = kSpecWidth3) const uint WIDTH3 = 0;
layout(constant_id = kSpecWidth4) const uint WIDTH4 = 0;
layout(constant_id = kSpecActivation0) const uint ACTIVATION0 = 0;
layout(constant_id = kSpecActivation1) const uint ACTIVATION1 = 0;
layout(constant_id = kSpecActivation2) const uint ACTIVATION2 = 0;
layout(constant_id = kSpecActivation3) const uint ACTIVATION3 = 0;
layout(constant_id = kSpecBiases) const uint BIASES = 0;
layout(constant_id = kSpecInputIsShared) const uint INPUT_IS_SHARED = 0;
layout(constant_id = kSpecAntithetic) const uint ANTITHETIC = 1;
layout(constant_id = kSpecBothSides) const uint BOTH_SIDES = 0;

layout(push_constant, scalar) uniform PushConstants { Params params; };
layout(set = 0, binding = kBindInput, scalar) readonly restrict buffer Input { float values[]; } input_;
layout(set = 0, binding = kBindOut, scalar) writeonly restrict buffer Out { float values[]; } out_;
#define PARAMETER(name, place) \
    layout(set = 0, binding = place, scalar) uniform name##Block { float values[kUniformElements]; } name;
PARAMETER(weights0_, kBindWeights0)
PARAMETER(weights1_, kBindWeights1)
PARAMETER(weights2_, kBindWeights2)
PARAMETER(weights3_, kBindWeights3)
PARAMETER(bias0_, kBindBias0)
PARAMETER(bias1_, kBindBias1)
PARAMETER(bias2_, kBindBias2)
PARAMETER(bias3_, kBindBias3)

// Where each layer's pieces begin: in factors_ A [out, r], B [in, r] and the bias' noise [out], each in whole blocks of
// noise; in weights_ W [out, in]; in units_ the outputs, and in biases_ the biases beside them.
#define WHOLE_BLOCKS(elements) (((elements) + 7u) / 8u * 8u)
const uint A0 = WHOLE_BLOCKS(WIDTH1 * RANK);
const uint A1 = WHOLE_BLOCKS(WIDTH2 * RANK);
const uint A2 = WHOLE_BLOCKS(WIDTH3 * RANK);
const uint A3 = WHOLE_BLOCKS(WIDTH4 * RANK);
const uint AB0 = A0 + WHOLE_BLOCKS(WIDTH0 * RANK);
const uint AB1 = A1 + WHOLE_BLOCKS(WIDTH1 * RANK);
const uint AB2 = A2 + WHOLE_BLOCKS(WIDTH2 * RANK);
const uint AB3 = A3 + WHOLE_BLOCKS(WIDTH3 * RANK);
const uint FACTORS1 = AB0 + WHOLE_BLOCKS(WIDTH1);
const uint FACTORS2 = FACTORS1 + AB1 + WHOLE_BLOCKS(WIDTH2);
const uint FACTORS3 = FACTORS2 + AB2 + WHOLE_BLOCKS(WIDTH3);
const uint FACTOR_COUNT = FACTORS3 + AB3 + WHOLE_BLOCKS(WIDTH4);
// Whether noise is drawn and weights are loaded before the rows. An invocation of one row makes them as it uses them,
// eight outputs at a time: kept, they would only hold registers.
const bool KEEPS = ROWS > 1u || BOTH_SIDES == 1u;
const uint PRODUCTS1 = WIDTH0 * WIDTH1;
const uint PRODUCTS2 = PRODUCTS1 + WIDTH1 * WIDTH2;
const uint PRODUCTS3 = PRODUCTS2 + WIDTH2 * WIDTH3;
const uint PRODUCT_COUNT = PRODUCTS3 + WIDTH3 * WIDTH4;
const uint UNITS1 = WIDTH0;
const uint UNITS2 = UNITS1 + WIDTH1;
const uint UNITS3 = UNITS2 + WIDTH2;
const uint UNITS4 = UNITS3 + WIDTH3;
const uint UNIT_COUNT = UNITS4 + WIDTH4;

float factors_[FACTOR_COUNT];
float weights_[PRODUCT_COUNT];
float biases_[UNIT_COUNT];
float units_[UNIT_COUNT];
float projections_[RANK];

const uint DOMAIN_A = 0u;
const uint DOMAIN_B = 1u;
const uint DOMAIN_VECTOR = 2u;

// One block of a stream of the pair, as integers in floats, to factors_[to + 8 block ...].
void draw_block(uint parameter, uint domain, int pair, uint block, uint to) {
    uvec4 words = philox4x32(uvec4(block, parameter | (domain << 24), uint(pair), params.time),
                             uvec2(params.seed_low, params.seed_high));
    [[unroll]] for (uint w = 0u; w < 4u; ++w) {
        ivec2 noise = nibble_noise(words[w]);
        factors_[to + 8u * block + 2u * w] = float(noise.x);
        factors_[to + 8u * block + 2u * w + 1u] = float(noise.y);
    }
}

// Elements 0 ... count - 1, and those behind them to the end of a block.
void draw(uint parameter, uint domain, int pair, uint to, uint count) {
    [[unroll]] for (uint at = 0u; at < count; at += 8u) draw_block(parameter, domain, pair, at / 8u, to);
}

float multiply_add(float sum, float a, float b) {
#ifdef NETWORK_FAST
    return fma(a, b, sum);
#else
    precise float product = a * b;
    precise float next = sum + product;
    return next;
#endif
}

// Makes projections_ from units_[from ...], which are operands.
void project(uint inputs, uint factors, uint from, float scale) {
    [[unroll]] for (uint rho = 0u; rho < RANK; ++rho) {
        precise float sum = params.zero;
        [[unroll]] for (uint i = 0u; i < inputs; ++i) {
            precise float product = units_[from + i] * factors_[factors + i * RANK + rho];
            sum = sum + product;
        }
        precise float scaled = sum * scale;
        projections_[rho] = exact_flush_operand(scaled);
    }
}

// An output and its bias, which perturbed_vector makes so, as elementwise adds them.
float with_bias(float sum, float bias, float noise, float vector_scale) {
    precise float product = vector_scale * noise;
    precise float perturbed = bias + product;
    return uintBitsToFloat(exact_sum_word(floatBitsToUint(sum), floatBitsToUint(perturbed)));
}

#define ACTIVATE_UNITS(function, units, count) \
    [[unroll]] for (uint o = 0u; o < count; ++o) units_[units + o] = function(units_[units + o]);

// The functions of a layer. They are text for each layer, so that their conditions are constants: a branch that these
// rule out is removed before functions are inlined, many times each.
#define LAYER(n, in_, out_count, products, factors, units, to, activation)                                         \
    void prepare_layer##n(int pair) {                                                                              \
        draw(params.weights##n, DOMAIN_A, pair, factors, out_count * RANK);                                        \
        draw(params.weights##n, DOMAIN_B, pair, factors + A##n, in_ * RANK);                                       \
        [[unroll]] for (uint i = 0u; i < in_ * out_count; ++i)                                                     \
            weights_[products + i] = exact_flush_operand(weights##n##_.values[i]);                                 \
        if ((BIASES >> n & 1u) != 0u) {                                                                            \
            draw(params.bias##n, DOMAIN_VECTOR, pair, factors + AB##n, out_count);                                 \
            [[unroll]] for (uint o = 0u; o < out_count; ++o)                                                       \
                biases_[to + o] = exact_flush_operand(bias##n##_.values[o]);                                       \
        }                                                                                                          \
    }                                                                                                              \
    void draw_outputs##n(int pair, uint first, uint count) {                                                       \
        [[unroll]] for (uint at = 0u; at < count * RANK; at += 8u)                                                 \
            draw_block(params.weights##n, DOMAIN_A, pair, (first * RANK + at) / 8u, factors);                      \
        if ((BIASES >> n & 1u) != 0u) {                                                                            \
            [[unroll]] for (uint at = 0u; at < count; at += 8u)                                                    \
                draw_block(params.bias##n, DOMAIN_VECTOR, pair, (first + at) / 8u, factors + AB##n);               \
        }                                                                                                          \
    }                                                                                                              \
    float output##n(uint o, float vector_scale) {                                                                  \
        float sum = params.zero;                                                                                   \
        [[unroll]] for (uint i = 0u; i < in_; ++i) {                                                               \
            float weight;                                                                                          \
            if (KEEPS) weight = weights_[products + o * in_ + i];                                                  \
            else weight = exact_flush_operand(weights##n##_.values[o * in_ + i]);                                  \
            sum = multiply_add(sum, units_[units + i], weight);                                                    \
        }                                                                                                          \
        [[unroll]] for (uint rho = 0u; rho < RANK; ++rho)                                                          \
            sum = multiply_add(sum, projections_[rho], factors_[factors + o * RANK + rho]);                        \
        if ((BIASES >> n & 1u) != 0u) {                                                                            \
            float bias;                                                                                            \
            if (KEEPS) bias = biases_[to + o];                                                                     \
            else bias = exact_flush_operand(bias##n##_.values[o]);                                                 \
            sum = with_bias(sum, bias, factors_[factors + AB##n + o], vector_scale);                               \
        }                                                                                                          \
        return sum;                                                                                                \
    }                                                                                                              \
    void apply_layer##n(int pair, float scale, float vector_scale) {                                               \
        if (!KEEPS) draw(params.weights##n, DOMAIN_B, pair, factors + A##n, in_ * RANK);                           \
        project(in_, factors + A##n, units, scale);                                                                \
        uint drawn = KEEPS ? 0u : out_count / 8u * 8u;                                                             \
        [[unroll]] for (uint first = 0u; first < drawn; first += 8u) {                                             \
            draw_outputs##n(pair, first, 8u);                                                                      \
            [[unroll]] for (uint e = 0u; e < 8u; ++e) units_[to + first + e] = output##n(first + e, vector_scale); \
        }                                                                                                          \
        if (!KEEPS) draw_outputs##n(pair, out_count / 8u * 8u, out_count % 8u);                                    \
        [[unroll]] for (uint o = drawn; o < out_count; ++o) units_[to + o] = output##n(o, vector_scale);           \
        if (activation == kActivationRelu) { ACTIVATE_UNITS(exact_relu, to, out_count) }                           \
        if (activation == kActivationGelu) { ACTIVATE_UNITS(exact_gelu, to, out_count) }                           \
        if (activation == kActivationSilu) { ACTIVATE_UNITS(exact_silu, to, out_count) }                           \
        if (activation == kActivationTanh) { ACTIVATE_UNITS(exact_tanh_or_nan, to, out_count) }                    \
        if (activation == kActivationSigmoid) { ACTIVATE_UNITS(exact_sigmoid, to, out_count) }                     \
        if (LAYERS > n + 1u) { ACTIVATE_UNITS(exact_flush_operand, to, out_count) }                                \
    }

LAYER(0, WIDTH0, WIDTH1, 0u, 0u, 0u, UNITS1, ACTIVATION0)
LAYER(1, WIDTH1, WIDTH2, PRODUCTS1, FACTORS1, UNITS1, UNITS2, ACTIVATION1)
LAYER(2, WIDTH2, WIDTH3, PRODUCTS2, FACTORS2, UNITS2, UNITS3, ACTIVATION2)
LAYER(3, WIDTH3, WIDTH4, PRODUCTS3, FACTORS3, UNITS3, UNITS4, ACTIVATION3)

void prepare_network(int pair) {
    prepare_layer0(pair);
    if (LAYERS > 1u) prepare_layer1(pair);
    if (LAYERS > 2u) prepare_layer2(pair);
    if (LAYERS > 3u) prepare_layer3(pair);
}

void apply_network(int pair, float scale, float vector_scale) {
    apply_layer0(pair, scale, vector_scale);
    if (LAYERS > 1u) apply_layer1(pair, scale, vector_scale);
    if (LAYERS > 2u) apply_layer2(pair, scale, vector_scale);
    if (LAYERS > 3u) apply_layer3(pair, scale, vector_scale);
}

const uint OUTPUTS = LAYERS == 1u ? WIDTH1 : LAYERS == 2u ? WIDTH2 : LAYERS == 3u ? WIDTH3 : WIDTH4;
const uint FIRST_OUTPUT = LAYERS == 1u ? UNITS1 : LAYERS == 2u ? UNITS2 : LAYERS == 3u ? UNITS3 : UNITS4;

const int SIDES = BOTH_SIDES == 1u ? 2 : 1;

void main() {
    uint linear = (gl_WorkGroupID.x + gl_WorkGroupID.y * gl_NumWorkGroups.x) * WORKGROUP_SIZE + gl_LocalInvocationID.x;
    uint row_groups = (params.rows + ROWS - 1u) / ROWS;
    uint first_row = linear % row_groups * ROWS;
    // With BOTH_SIDES the pair's first member, which may not be one of those that are wanted, as may not the second.
    int pairs_before = int(linear / row_groups);
    int first_m = pairs_before;
    if (BOTH_SIDES == 1u) first_m = 2 * ((params.first_member >> 1) + pairs_before) - params.first_member;
    if (first_m >= int(params.members)) return;
    int pair = (params.first_member + first_m) >> ANTITHETIC;
    if (KEEPS) prepare_network(pair);
    [[dont_unroll]] for (int m = max(first_m, 0); m < min(first_m + SIDES, int(params.members)); ++m) {
        int member = params.first_member + m;
        float side = member < 0 ? 0.0 : float(1 - 2 * (member & int(ANTITHETIC)));
        precise float scale = params.scale * side;
        precise float vector_scale = params.vector_scale * side;
        [[dont_unroll]] for (uint row = first_row; row < min(first_row + ROWS, params.rows); ++row) {
            uint instance = uint(m) * params.rows + row;
            uint start = (INPUT_IS_SHARED == 1u ? row : instance) * WIDTH0;
            [[unroll]] for (uint i = 0u; i < WIDTH0; ++i) units_[i] = exact_flush_operand(input_.values[start + i]);
            apply_network(pair, scale, vector_scale);
            [[unroll]] for (uint o = 0u; o < OUTPUTS; ++o)
                out_.values[instance * OUTPUTS + o] = units_[FIRST_OUTPUT + o];
        }
    }
}
