// SPDX-License-Identifier: Apache-2.0
// probe_arithmetic: one operation of class P on operands from a buffer, by bit pattern. One invocation per case. Bindings and cases:
// yolk/internal/abi/probe.h.
#version 460
#extension GL_EXT_scalar_block_layout : require
#extension GL_GOOGLE_include_directive : require
#include "yolk/internal/abi/probe.h"
#include "yolk/exact/exact_math.h"

layout(local_size_x = 64) in;
layout(set = 0, binding = kBindCases, scalar) readonly restrict buffer Cases { uvec4 cases[]; };
layout(set = 0, binding = kBindResults, scalar) writeonly restrict buffer Results { uint results[]; };
layout(push_constant, scalar) uniform PushConstants { Params params; };

uint compute(uint operation, float a, float b, float c, uint a_bits) {
    precise float result = 0.0;
    switch (operation) {
        case kMultiply: result = a * b; break;
        case kAdd: result = a + b; break;
        case kSubtract: result = a - b; break;
        case kMultiplyAdd: result = a * b + c; break;
        case kSubtractProduct: result = c - a * b; break;
        case kSumInOrder: result = (a + b) + c; break;
        case kDot: result = (a * b + b * c) + c * a; break;
        case kFlushedProduct: {
            precise float product = a * b;
            result = exact_flush(product);
            break;
        }
        case kFromInteger: result = float(int(a_bits)); break;
        case kToInteger: return uint(int(a));
    }
    return floatBitsToUint(result);
}

void main() {
    uint index = gl_GlobalInvocationID.x;
    if (index >= params.case_count) return;
    uvec4 given = cases[index];
    results[index] = compute(given.x, uintBitsToFloat(given.y), uintBitsToFloat(given.z), uintBitsToFloat(given.w), given.y);
}
