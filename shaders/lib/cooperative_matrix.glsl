// SPDX-License-Identifier: Apache-2.0
// Cooperative matrices: fp16 operands, fp32 sums, over a subgroup. In the NV form, which every glslc knows; the build
// makes the KHR form of it (docs/adr/0016). The including shader declares M, N and K (the shape: three constants, for a
// type of matrices may be one operand only) and the extensions. Strides and indices in elements of the array;
// `by_columns`, a constant, true where a column's elements are neighbours in memory.
#ifndef YOLK_LIB_COOPERATIVE_MATRIX_GLSL
#define YOLK_LIB_COOPERATIVE_MATRIX_GLSL

const uint HALVES = 8;  // fp16 elements of a vector of 16 bytes

#define MatrixA fcoopmatNV<16, gl_ScopeSubgroup, M, K>
#define MatrixB fcoopmatNV<16, gl_ScopeSubgroup, K, N>
#define MatrixSum fcoopmatNV<32, gl_ScopeSubgroup, M, N>
#define LOAD(matrix, from, index, stride, by_columns) coopMatLoadNV(matrix, from, index, stride, by_columns)
#define STORE_SUM(matrix, to, index, stride) coopMatStoreNV(matrix, to, index, stride, false)
#define MULTIPLY_ADD(a, b, sum) coopMatMulAddNV(a, b, sum)

#endif
