// SPDX-License-Identifier: Apache-2.0
// probe_cooperative: one multiplication on matrix units, by one subgroup, and the same with operands that have passed
// through shared memory. Both are read as vectors, as matmul reads them. fp16 with fp32 sums, bf16 likewise, and int8
// with int32 sums (MATRIX_I8). Bindings and constants: yolk/internal/abi/probe.h.
#version 460
#extension GL_EXT_control_flow_attributes : require
#extension GL_EXT_scalar_block_layout : require
#extension GL_GOOGLE_include_directive : require
#extension GL_KHR_memory_scope_semantics : require
#extension GL_NV_cooperative_matrix : require
#ifdef MATRIX_I8
#extension GL_EXT_shader_explicit_arithmetic_types_int8 : require
#extension GL_NV_integer_cooperative_matrix : require
#else
#extension GL_EXT_shader_explicit_arithmetic_types_float16 : require
#endif
#include "yolk/internal/abi/probe.h"

layout(local_size_x_id = kSpecSubgroupSize) in;
layout(constant_id = kSpecSubgroupSize) const uint SUBGROUP_SIZE = 32;
// lavapipe's shape: validation layers (1.4.309) judge types by defaults, whatever the specialization is.
layout(constant_id = kSpecShapeM) const uint M = 8;
layout(constant_id = kSpecShapeN) const uint N = 8;
layout(constant_id = kSpecShapeK) const uint K = 8;
layout(push_constant, scalar) uniform PushConstants { Params params; };
#include "cooperative_matrix.glsl"
layout(set = 0, binding = kBindCases, scalar) readonly buffer Cases { VECTOR cases[]; };
layout(set = 0, binding = kBindResults, scalar) writeonly buffer Results { SUM results[]; };

const uint SIZE_A = M * K / PER_VECTOR;
const uint SIZE_B = K * N / PER_VECTOR;
const uint SIZE = SIZE_A + SIZE_B;
shared VECTOR staged[SIZE];

void main() {
    if (params.case_count == 0u) return;
    MatrixA a;
    MatrixB b;
    MatrixSum sum = MatrixSum(SUM(0));
    LOAD(a, cases, 0u, K / PER_VECTOR, false);
    LOAD(b, cases, SIZE_A, N / PER_VECTOR, false);
    sum = MULTIPLY_ADD(a, b, sum);
    STORE_SUM(sum, results, 0u, N);
    for (uint i = gl_LocalInvocationIndex; i < SIZE; i += SUBGROUP_SIZE) staged[i] = cases[i];
    barrier();
    LOAD(a, staged, 0u, K / PER_VECTOR, false);
    LOAD(b, staged, SIZE_A, N / PER_VECTOR, false);
    sum = MULTIPLY_ADD(a, b, MatrixSum(SUM(0)));
    STORE_SUM(sum, results, M * N, N);
}
