// SPDX-License-Identifier: Apache-2.0
// probe_cooperative: one multiplication of fp16 matrices with fp32 sums on matrix units, by one subgroup. With
// COOPERATIVE_KHR in the KHR form, else in the NV form. Bindings and constants: yolk/abi/probe.h.
#version 460
#extension GL_EXT_scalar_block_layout : require
#extension GL_GOOGLE_include_directive : require
#extension GL_EXT_shader_16bit_storage : require
#extension GL_EXT_shader_explicit_arithmetic_types_float16 : require
#extension GL_KHR_memory_scope_semantics : require
#ifdef COOPERATIVE_KHR
#extension GL_KHR_cooperative_matrix : require
#else
#extension GL_NV_cooperative_matrix : require
#endif
#include "yolk/abi/probe.h"

layout(local_size_x_id = kSpecSubgroupSize) in;
layout(constant_id = kSpecShapeM) const uint M = 16;
layout(constant_id = kSpecShapeN) const uint N = 16;
layout(constant_id = kSpecShapeK) const uint K = 16;
layout(set = 0, binding = kBindCases, scalar) readonly buffer Cases { float16_t cases[]; };
layout(set = 0, binding = kBindResults, scalar) writeonly buffer Results { float results[]; };
layout(push_constant, scalar) uniform PushConstants { Params params; };
#include "cooperative_matrix.glsl"

void main() {
    if (params.case_count == 0u) return;
    MatrixA a;
    MatrixB b;
    MatrixSum sum = MatrixSum(0.0);
    LOAD_A(a, cases, 0u, K, false);
    LOAD_B(b, cases, M * K, N, false);
    sum = MULTIPLY_ADD(a, b, sum);
    STORE_SUM(sum, results, 0u, N);
}
