// SPDX-License-Identifier: Apache-2.0
// limits: CHAINS independent sums of fragments, sum = a b + sum, per subgroup of a workgroup, in registers: fp16
// operands, fp32 sums. Operands come at run time, and each chain begins with another sum, so none can be dropped.
// Class T. Bindings, constants: yolk/internal/abi/limits.h. Loops: CHAINS, `iterations` times kMatrixStepsPerIteration times
// CHAINS, CHAINS.
#version 460
#extension GL_EXT_control_flow_attributes : require
#extension GL_EXT_scalar_block_layout : require
#extension GL_GOOGLE_include_directive : require
#extension GL_EXT_shader_explicit_arithmetic_types_float16 : require
#extension GL_KHR_memory_scope_semantics : require
#extension GL_KHR_shader_subgroup_basic : require
#extension GL_NV_cooperative_matrix : require
#include "yolk/internal/abi/limits.h"

layout(local_size_x_id = kSpecWorkgroupSize) in;
layout(constant_id = kSpecChains) const uint CHAINS = 4;
// lavapipe's shape: validation layers (1.4.309) judge types by defaults, whatever the specialization is.
layout(constant_id = kSpecShapeM) const uint M = 8;
layout(constant_id = kSpecShapeN) const uint N = 8;
layout(constant_id = kSpecShapeK) const uint K = 8;
layout(set = 0, binding = kBindOut, scalar) writeonly buffer Out { float values[]; } out_;
layout(push_constant, scalar) uniform PushConstants { Params params; };
#include "cooperative_matrix.glsl"

void main() {
    uint group = gl_WorkGroupID.x + gl_WorkGroupID.y * gl_NumWorkGroups.x;
    if (group >= params.invocations) return;
    MatrixA a = MatrixA(float16_t(params.factor));
    MatrixB b = MatrixB(float16_t(params.summand));
    MatrixSum sums[CHAINS];
    [[unroll]] for (uint c = 0u; c < CHAINS; ++c) sums[c] = MatrixSum(float(c));
    for (uint i = 0u; i < params.iterations; ++i) {
        [[unroll]] for (uint step = 0u; step < kMatrixStepsPerIteration; ++step) {
            [[unroll]] for (uint c = 0u; c < CHAINS; ++c) sums[c] = MULTIPLY_ADD(a, b, sums[c]);
        }
    }
    MatrixSum sum = sums[0];
    [[unroll]] for (uint c = 1u; c < CHAINS; ++c) sum = sum + sums[c];
    STORE_SUM(sum, out_.values, (group * gl_NumSubgroups + gl_SubgroupID) * M * N, N);
}
