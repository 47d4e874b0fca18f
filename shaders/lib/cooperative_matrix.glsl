// SPDX-License-Identifier: Apache-2.0
// Cooperative matrices over a subgroup: fp16 operands with fp32 sums or, with MATRIX_I8, int8 with int32. In the NV form,
// which every glslc knows; the build makes the KHR form of it, and of the same text kernels for bf16 (docs/adr/0016).
// The including shader declares M, N and K (the shape: three constants, for a type of matrices may be one operand only)
// and the extensions. Matrices are read as VECTORs of 16 bytes, or of 8 with MATRIX_NARROW: shapes of int8 whose K is 8.
// Strides and indices in elements of the array; `by_columns`, a constant, true where a column's elements are neighbours
// in memory.
#ifndef YOLK_LIB_COOPERATIVE_MATRIX_GLSL
#define YOLK_LIB_COOPERATIVE_MATRIX_GLSL

#ifdef MATRIX_NARROW
#define VECTOR uvec2
#else
#define VECTOR uvec4
#endif

#ifdef MATRIX_I8
#ifdef MATRIX_NARROW
const uint PER_VECTOR = 8;  // operands
#else
const uint PER_VECTOR = 16;
#endif
#define SUM int
#define MatrixA icoopmatNV<8, gl_ScopeSubgroup, M, K>
#define MatrixB icoopmatNV<8, gl_ScopeSubgroup, K, N>
#define MatrixSum icoopmatNV<32, gl_ScopeSubgroup, M, N>
#else
const uint PER_VECTOR = 8;
#define SUM float
#define MatrixA fcoopmatNV<16, gl_ScopeSubgroup, M, K>
#define MatrixB fcoopmatNV<16, gl_ScopeSubgroup, K, N>
#define MatrixSum fcoopmatNV<32, gl_ScopeSubgroup, M, N>
#endif
#define LOAD(matrix, from, index, stride, by_columns) coopMatLoadNV(matrix, from, index, stride, by_columns)
#define STORE_SUM(matrix, to, index, stride) coopMatStoreNV(matrix, to, index, stride, false)
#define MULTIPLY_ADD(a, b, sum) coopMatMulAddNV(a, b, sum)

#endif
