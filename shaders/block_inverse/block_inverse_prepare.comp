// SPDX-License-Identifier: Apache-2.0
// block_inverse, first: of each block the exponent of its largest magnitude, the mean of its diagonal, the damping;
// what is not finite or zero gets its status. Symmetric: the scaling of the rows, too (one step of Ruiz 2001, A
// scaling algorithm to equilibrate both rows and columns norms in matrices, in whole exponents). One invocation per
// block. Class P. Bindings: yolk/internal/abi/block_inverse.h. Loops: kCounts; for rows [first, end) n iterations each, per
// phase; the phases are `attempt`: 0 the elements, 1 the scaling.
#version 460
#extension GL_EXT_scalar_block_layout : require
#extension GL_GOOGLE_include_directive : require
#include "block_common.glsl"

// Largest magnitude of the rows, as bits, and infinity for anything that is not finite.
uint largest_of(uint base, uint first, uint end, uint so_far) {
    uint largest = so_far;
    for (uint i = first; i < end; ++i) {
        for (uint j = 0u; j <= i; ++j)
            largest = max(largest, floatBitsToUint(in_[base + i * params.n + j]) & kExactMagnitudeMask);
    }
    return largest;
}

void begin_block(uint block, uint largest) {
    uint at = state_of(block);
    uint base = in_of(block);
    uint own_bits = params.damping_per_block != 0u ? floatBitsToUint(damping[params.first_block + block]) : 0u;
    if (own_bits == kExactSignMask) own_bits = 0u;
    // A negative number has larger bits than infinity.
    uint all = max(largest, own_bits);
    uint code = kLive;
    if (all >= kBlockInfinity) code = kStatusNotFinite;
    if (all < kBlockLeastNormal) code = kStatusSingular;
    int exponent = block_exponent(uintBitsToFloat(all));
    if (code != kLive) exponent = 0;
    precise float trace = 0.0;
    for (uint i = 0u; i < params.n; ++i)
        trace = trace + block_operand(in_[base + i * params.n + i], -exponent);
    precise float mean = exact_flush_operand(trace) * params.inverse_n;
    mean = exact_flush_operand(mean);
    precise float relative = params.damping * mean;
    float first_damping = params.damping_per_block != 0u ? block_operand(uintBitsToFloat(own_bits), -exponent)
                                                         : exact_flush_operand(relative);
    precise float damped_mean = mean + first_damping;
    damped_mean = exact_flush_operand(damped_mean);
    if (code == kLive && params.symmetric == 0u && !(damped_mean > 0.0)) code = kStatusIndefinite;
    state[at + kStateCode] = code;
    state[at + kStateAttempt] = 0u;
    state[at + kStateExponent] = uint(exponent);
    state[at + kStateMean] = floatBitsToUint(damped_mean);
    state[at + kStateDamping] = floatBitsToUint(first_damping);
    state[at + kStateAdded] = floatBitsToUint(first_damping);
}

// The square root of each row's largest element, as an exponent; rows of zeros keep theirs.
void scale_rows(uint block, uint first, uint end) {
    uint base = in_of(block);
    int exponent = exponent_of(block);
    float added = added_of(block);
    for (uint i = first; i < end; ++i) {
        float x = in_[base + i * params.n + i];
        int largest = block_exponent(block_damped(x, exponent, added));
        if (added == 0.0) largest = block_exponent(x) - exponent;
        for (uint j = 0u; j < params.n; ++j) {
            int other = block_exponent(element_of(base, i, j)) - exponent;
            if (i != j) largest = max(largest, other);
        }
        state[scales_of(block) + i] = uint(largest < -400 ? 0 : largest >> 1);
    }
}

void main() {
    uint block = linear_invocation();
    if (block >= params.blocks) return;
    if (block == 0u) {
        for (uint i = 0u; i < kCounts; ++i) state[count_of(i)] = 0u;
    }
    if (params.attempt == 1u) {
        if (state[state_of(block) + kStateCode] == kLive) scale_rows(block, params.first, params.end);
        return;
    }
    // Between dispatches the largest magnitude waits in the place of the exponent.
    uint at = state_of(block) + kStateExponent;
    uint largest = largest_of(in_of(block), params.first, params.end, params.first == 0u ? 0u : state[at]);
    if (params.end < params.n) state[at] = largest;
    else begin_block(block, largest);
}
