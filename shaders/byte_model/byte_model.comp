// SPDX-License-Identifier: Apache-2.0
// byte_model, second half: step_count bytes of the stretches of `members` members, and their log-likelihoods. One
// workgroup has 2 PAIRS members, which go through their bytes together: activations and states lie in shared memory,
// packed, [word, member], and each word of weights is read once for all of them. An invocation makes four neighbouring
// rows of a product for all members. A byte is a loop over stages, each with one product, so that the code of a product,
// which is long once its tile is unrolled, is there once. States and scores are kept in the scratch between dispatches. With INTEGER_DOT by
// the dot-product instruction, else unpacked. Bindings, constants: yolk/internal/abi/byte_model.h. No subgroup assumption.
// Class E: a product's sum is at most 127^2 n + 3 * 30^2 * 127 n RANK in size, which the plan keeps below 2^31; sums of
// powers are added by atomics in any order.
// What a loop counts is held to its bound (exact_index) where another loop stands between the comparison and the access:
// the checker of undefined operations loses it there.
// Loops: see byte_step_loops (primitives/src/operations/byte_model.cpp).
#version 460
#extension GL_EXT_control_flow_attributes : require
#extension GL_EXT_scalar_block_layout : require
#extension GL_GOOGLE_include_directive : require
#ifdef INTEGER_DOT
#extension GL_EXT_spirv_intrinsics : require
#endif
#include "byte_model_layout.glsl"
#include "integer_dot.glsl"

layout(set = 0, binding = kBindText, scalar) readonly restrict buffer Text { uint text[]; };
layout(set = 0, binding = kBindReturns, scalar) writeonly restrict buffer Returns { float returns[]; };
layout(set = 0, binding = kBindScratch, scalar) restrict buffer Scratch { uint scratch[]; };

const uint MEMBERS = 2u * PAIRS;

// Shared words, [word, member]: the stream that layers add to, it normalized, two products, the gates, the state times
// the gate, a wide layer or the logits, and the states.
const uint BLOCK = MEMBERS * ROW;
const uint X = 0u;
const uint INPUT = BLOCK;
const uint FIRST = 2u * BLOCK;
const uint SECOND = 3u * BLOCK;
const uint GATE = 4u * BLOCK;
const uint GATED = 5u * BLOCK;
const uint WIDEST = 6u * BLOCK;
const uint STATE = WIDEST + MEMBERS * (WIDTH > kByteValues / 4u ? WIDTH : kByteValues / 4u);
const uint WORDS = STATE + LAYERS * BLOCK;
shared uint bytes_[WORDS];
shared int low_rank_[MEMBERS * RANK];  // x B of the product, [column, member]
shared uint mean_[MEMBERS], mean_magic_[MEMBERS];
shared uint power_[MEMBERS];
shared int logit_[MEMBERS];
shared int score_[MEMBERS];

uint lane;          // of the workgroup
uint first_member;  // of the workgroup, in this dispatch

#ifdef INTEGER_DOT
ivec4 signed_bytes(uint word) {
    int w = int(word);
    return ivec4(w << 24, w << 16, w << 8, w) >> 24;
}
#endif
uint packed_bytes(ivec4 v) {
    return (uint(v.x) & 0xFFu) | (uint(v.y) & 0xFFu) << 8 | (uint(v.z) & 0xFFu) << 16 | uint(v.w) << 24;
}
ivec4 clip4(ivec4 v) { return ivec4(byte_clip(v.x), byte_clip(v.y), byte_clip(v.z), byte_clip(v.w)); }
ivec4 shift4(ivec4 v, uint bits) {
    return ivec4(byte_shift(v.x, bits, SYMMETRIC), byte_shift(v.y, bits, SYMMETRIC), byte_shift(v.z, bits, SYMMETRIC),
                 byte_shift(v.w, bits, SYMMETRIC));
}
int side_of(uint m) { return MEAN_ONLY == 1u ? 0 : ((m & 1u) == 0u ? 1 : -1); }
// Of a member's pair; members past the last one take the last pair's.
uint noise_of(uint m) {
    uint pair = min((first_member + m) / 2u, params.pair_count - 1u);
    return params.weight_words + pair * params.noise_words;
}
uint byte_at(uint position) { return (text[position / 4u] >> (8u * (position % 4u))) & 0xFFu; }
uint begin_of(uint m) {
    uint member = params.first_member + min(first_member + m, params.members - 1u);
    uint at = member / params.group * params.distance + params.advance;
    return at < params.span ? at : at - params.span;
}
void meet() {
    memoryBarrierShared();
    barrier();
}

// Four elements of a vector, perturbed.
ivec4 vector4(uint weight, uint noise, uint word, uint m) {
    ivec4 base = signed_bytes(scratch[weight + word]);
    if (MEAN_ONLY == 1u) return base;
    ivec4 drawn = signed_bytes(scratch[noise_of(m) + noise + word]) * (side_of(m) * kByteVectorUnit);
    return clip4(base + shift4(drawn, 4u + params.sigma_shift));
}

void normalize(uint weight, uint noise) {
    for (uint i = lane; i < MEMBERS; i += WORKGROUP_SIZE) {
        uint m = exact_index(i, MEMBERS);
        uint sum = 0u;
        for (uint word = 0u; word < ROW; ++word) {
            ivec4 v = abs(signed_bytes(bytes_[X + word * MEMBERS + m]));
            sum += uint((v.x + v.y) + (v.z + v.w));
        }
        uint mean = byte_mean(sum, WIDTH);
        mean_[m] = mean;
        mean_magic_[m] = byte_mean_magic(mean);
    }
    meet();
    for (uint i = lane; i < BLOCK; i += WORKGROUP_SIZE) {
        uint m = i % MEMBERS;
        ivec4 x = signed_bytes(bytes_[X + i]);
        ivec4 w = vector4(weight, noise, i / MEMBERS, m);
        uint mean = mean_[m], magic = mean_magic_[m];
        bytes_[INPUT + i] = packed_bytes(
            ivec4(byte_normalize(x.x, w.x, mean, magic, SYMMETRIC), byte_normalize(x.y, w.y, mean, magic, SYMMETRIC),
                  byte_normalize(x.z, w.z, mean, magic, SYMMETRIC), byte_normalize(x.w, w.w, mean, magic, SYMMETRIC)));
    }
    meet();
}

// A product with a matrix [rows, 4 words]: where its operand and its result lie in bytes_, the matrix in the weights
// and its noise in a pair's.
struct Product {
    uint from, words, rows, to, weight, noise;
    uint root, magic;
};
// Behind the first member's last word of the operand.
uint end_of(Product p) { return min(p.from + p.words * MEMBERS, WORDS - MEMBERS + 1u); }

// side 3 (x B); B lies behind the rows of A.
void find_low_rank(Product p) {
    if (MEAN_ONLY == 1u) return;
    for (uint i = lane; i < MEMBERS * RANK; i += WORKGROUP_SIZE) {
        uint place = exact_index(i, MEMBERS * RANK), m = i % MEMBERS;
        uint at = noise_of(m) + p.noise + p.rows / 4u * RANK + i / MEMBERS * p.words;
        uint end = end_of(p);
        int sum = 0;
        for (uint word = p.from; word < end; word += MEMBERS) sum += integer_dot(bytes_[word + m], scratch[at++]);
        low_rank_[place] = side_of(m) * kByteMatrixUnit * sum;
    }
}

int sums[4u * MEMBERS];  // [member, row of four]: in registers, so by constants alone

#ifdef INTEGER_DOT
#define OPERAND uint
#define UNPACKED(word) word
#define MULTIPLIED(a, b) integer_dot(a, b)
#else
#define OPERAND ivec4
#define UNPACKED(word) signed_bytes(word)
int multiplied(ivec4 a, ivec4 b) {
    ivec4 products = a * b;
    return (products.x + products.y) + (products.z + products.w);
}
#define MULTIPLIED(a, b) multiplied(a, b)
#endif

// sums = rows 4 quad ... of the product for all members.
void multiply(Product p, uint quad) {
    [[unroll]] for (uint s = 0u; s < 4u * MEMBERS; ++s) sums[s] = 0;
    uint at = p.weight + 4u * quad;
    uint end = end_of(p);
    for (uint word = p.from; word < end; word += MEMBERS) {
        OPERAND w0 = UNPACKED(scratch[at]), w1 = UNPACKED(scratch[at + 1u]);
        OPERAND w2 = UNPACKED(scratch[at + 2u]), w3 = UNPACKED(scratch[at + 3u]);
        [[unroll]] for (uint m = 0u; m < MEMBERS; ++m) {
            OPERAND x = UNPACKED(bytes_[word + m]);
            sums[4u * m] += MULTIPLIED(w0, x);
            sums[4u * m + 1u] += MULTIPLIED(w1, x);
            sums[4u * m + 2u] += MULTIPLIED(w2, x);
            sums[4u * m + 3u] += MULTIPLIED(w3, x);
        }
        at += p.rows;
    }
}

ivec4 perturbation(Product p, uint quad, uint m) {
    if (MEAN_ONLY == 1u) return ivec4(0);
    ivec4 sum = ivec4(0);
    uint at = noise_of(m) + p.noise + quad;
    for (uint column = 0u; column < RANK; ++column)
        sum += low_rank_[column * MEMBERS + m] * signed_bytes(scratch[at + column * (p.rows / 4u)]);
    return shift4(sum, params.matrix_shift);
}

void make_product(Product p) {
    for (uint quad = lane; quad < p.rows / 4u; quad += WORKGROUP_SIZE) {
        multiply(p, quad);
        ivec4 finals[MEMBERS];  // for a loop that is not unrolled
        [[unroll]] for (uint m = 0u; m < MEMBERS; ++m)
            finals[m] = ivec4(sums[4u * m], sums[4u * m + 1u], sums[4u * m + 2u], sums[4u * m + 3u]);
        for (uint i = 0u; i < MEMBERS; ++i) {
            uint m = exact_index(i, MEMBERS);
            ivec4 sum = finals[m] + perturbation(p, quad, m);
            bytes_[exact_index(p.to + quad * MEMBERS + m, WORDS)] =
                packed_bytes(ivec4(byte_scale(sum.x, p.root, p.magic, SYMMETRIC), byte_scale(sum.y, p.root, p.magic, SYMMETRIC),
                                   byte_scale(sum.z, p.root, p.magic, SYMMETRIC), byte_scale(sum.w, p.root, p.magic, SYMMETRIC)));
        }
    }
}

// The stages of a layer; then comes the head.
const uint GATE_INPUT = 0u, GATE_STATE = 1u, NEW_INPUT = 2u, NEW_STATE = 3u, UP = 4u, DOWN = 5u, HEAD = 6u;

Product product_of(uint stage, uint layer) {
    uint weight = TABLE + layer * W_LAYER;
    uint noise = N_TABLE + layer * N_LAYER;
    Product p = Product(INPUT, ROW, WIDTH, stage == GATE_STATE || stage == NEW_STATE || stage == DOWN ? SECOND : FIRST,
                        weight, noise, params.root, params.magic);
    if (stage == GATE_INPUT) p.weight += W_GATE_INPUT, p.noise += N_GATE_INPUT;
    if (stage == GATE_STATE) p.weight += W_GATE_STATE, p.noise += N_GATE_STATE, p.from = STATE + layer * BLOCK;
    if (stage == NEW_INPUT) p.weight += W_NEW_INPUT, p.noise += N_NEW_INPUT;
    if (stage == NEW_STATE) p.weight += W_NEW_STATE, p.noise += N_NEW_STATE, p.from = GATED;
    if (stage == UP) p.weight += W_UP, p.noise += N_UP, p.rows = 4u * WIDTH, p.to = WIDEST;
    if (stage == DOWN) {
        p.weight += W_DOWN, p.noise += N_DOWN, p.from = WIDEST, p.words = WIDTH;
        p.root = params.wide_root, p.magic = params.wide_magic;
    }
    if (stage == HEAD) p.weight += ROW, p.noise += ROW, p.rows = kByteValues, p.to = WIDEST;
    return p;
}

// The gates, and the state times the gate.
void make_gates(uint layer) {
    uint weight = TABLE + layer * W_LAYER + W_GATE_BIAS, noise = N_TABLE + layer * N_LAYER + N_GATE_BIAS;
    for (uint i = lane; i < BLOCK; i += WORKGROUP_SIZE) {
        ivec4 f = clip4(signed_bytes(bytes_[FIRST + i]) + signed_bytes(bytes_[SECOND + i]) +
                        vector4(weight, noise, i / MEMBERS, i % MEMBERS));
        ivec4 h = signed_bytes(bytes_[STATE + layer * BLOCK + i]);
        bytes_[GATE + i] = packed_bytes(f);
        bytes_[GATED + i] =
            packed_bytes(clip4(ivec4(byte_gated(f.x, h.x, SYMMETRIC), byte_gated(f.y, h.y, SYMMETRIC),
                                     byte_gated(f.z, h.z, SYMMETRIC), byte_gated(f.w, h.w, SYMMETRIC))));
    }
}

void make_states(uint layer) {
    uint weight = TABLE + layer * W_LAYER + W_NEW_BIAS, noise = N_TABLE + layer * N_LAYER + N_NEW_BIAS;
    uint state = STATE + layer * BLOCK;
    for (uint i = lane; i < BLOCK; i += WORKGROUP_SIZE) {
        ivec4 c = clip4(signed_bytes(bytes_[FIRST + i]) + signed_bytes(bytes_[SECOND + i]) +
                        vector4(weight, noise, i / MEMBERS, i % MEMBERS));
        ivec4 f = signed_bytes(bytes_[GATE + i]);
        ivec4 h = signed_bytes(bytes_[state + i]);
        h = ivec4(byte_next_state(f.x, h.x, c.x, SYMMETRIC), byte_next_state(f.y, h.y, c.y, SYMMETRIC),
                  byte_next_state(f.z, h.z, c.z, SYMMETRIC), byte_next_state(f.w, h.w, c.w, SYMMETRIC));
        bytes_[state + i] = packed_bytes(h);
        bytes_[X + i] = packed_bytes(clip4(signed_bytes(bytes_[X + i]) + h));
    }
}

void add_wide() {
    for (uint i = lane; i < BLOCK; i += WORKGROUP_SIZE)
        bytes_[X + i] = packed_bytes(clip4(signed_bytes(bytes_[X + i]) + signed_bytes(bytes_[SECOND + i])));
}

// Sums of powers, and the logit of the byte that follows.
void add_powers(uint step_index) {
    for (uint i = lane; i < MEMBERS * kByteValues / 4u; i += WORKGROUP_SIZE) {
        uint m = i % MEMBERS;
        ivec4 z = signed_bytes(bytes_[WIDEST + i]);
        atomicAdd(power_[m], byte_power(z.x) + byte_power(z.y) + byte_power(z.z) + byte_power(z.w));
        uint target = byte_at(begin_of(m) + step_index + 1u);
        if (target / 4u == i / MEMBERS) logit_[m] = z[target % 4u];
    }
    meet();
    for (uint i = lane; i < MEMBERS; i += WORKGROUP_SIZE) {
        uint m = exact_index(i, MEMBERS);
        score_[m] += byte_likelihood(logit_[m], power_[m]);
    }
}

// The embedding's row, and a state of zeros where the byte is 0.
void begin_step(uint step_index) {
    for (uint i = lane; i < BLOCK; i += WORKGROUP_SIZE) {
        uint place = exact_index(i, BLOCK), m = i % MEMBERS, word = i / MEMBERS;
        uint id = byte_at(begin_of(m) + step_index);
        ivec4 row = signed_bytes(scratch[4u * (word * (kByteValues / 4u) + id / 4u) + id % 4u]);
        if (MEAN_ONLY == 0u) {
            ivec4 sum = ivec4(0);
            for (uint column = 0u; column < RANK; ++column) {
                uint a = noise_of(m) + column * (kByteValues / 4u) + id / 4u;
                uint b = noise_of(m) + kByteValues / 4u * RANK + column * ROW + word;
                sum += signed_bytes(scratch[b]) * signed_bytes(scratch[a])[id % 4u];
            }
            row += shift4(sum * (side_of(m) * kByteMatrixUnit), params.matrix_shift);
        }
        bytes_[X + place] = packed_bytes(clip4(row));
        for (uint layer = 0u; layer < LAYERS; ++layer)
            bytes_[STATE + layer * BLOCK + place] = id == 0u ? 0u : bytes_[STATE + layer * BLOCK + place];
        if (word == 0u) power_[m] = 0u;
    }
    meet();
}

void make_step(uint step_index) {
    begin_step(step_index);
    uint stages = 6u * LAYERS + (step_index < params.context ? 0u : 1u);
    for (uint i = 0u; i < stages; ++i) {
        uint layer = i / 6u;
        uint stage = layer == LAYERS ? HEAD : i % 6u;
        if (stage == GATE_INPUT || stage == UP || stage == HEAD)
            normalize(TABLE + layer * W_LAYER + (stage == UP ? W_NORM2 : 0u),
                      N_TABLE + layer * N_LAYER + (stage == UP ? N_NORM2 : 0u));
        Product p = product_of(stage, layer);
        find_low_rank(p);
        meet();
        make_product(p);
        meet();
        if (stage == GATE_STATE) make_gates(exact_index(layer, LAYERS));
        if (stage == NEW_STATE) make_states(exact_index(layer, LAYERS));
        if (stage == DOWN) add_wide();
        if (stage == HEAD) add_powers(step_index);
        meet();
    }
}

void load_states() {
    for (uint i = lane; i < LAYERS * BLOCK; i += WORKGROUP_SIZE) {
        uint at = params.first_state + first_member * LAYERS * ROW + i;
        bytes_[STATE + i] = params.first_step == 0u ? 0u : scratch[at];
    }
    for (uint m = lane; m < MEMBERS; m += WORKGROUP_SIZE)
        score_[m] = params.first_step == 0u ? 0 : int(scratch[params.first_score + first_member + m]);
    meet();
}

// A workgroup's members past the last one have room in the scratch.
void store_states(uint end) {
    for (uint i = lane; i < LAYERS * BLOCK; i += WORKGROUP_SIZE)
        scratch[params.first_state + first_member * LAYERS * ROW + i] = bytes_[STATE + i];
    for (uint m = lane; m < MEMBERS; m += WORKGROUP_SIZE) {
        scratch[params.first_score + first_member + m] = uint(score_[m]);
        exact_float likelihood = float(score_[m]) * 0.0625;
        if (end == params.last_step && first_member + m < params.members)
            returns[params.first_result + first_member + m] = likelihood;
    }
}

void main() {
    lane = gl_LocalInvocationID.x;
    first_member = (gl_WorkGroupID.x + gl_WorkGroupID.y * gl_NumWorkGroups.x) * MEMBERS;
    if (first_member >= params.members) return;
    load_states();
    uint end = params.first_step + params.step_count;
    for (uint step_index = params.first_step; step_index < end; ++step_index) make_step(step_index);
    store_states(end);
}
