// SPDX-License-Identifier: Apache-2.0
// One name for both forms of cooperative matrices: fp16 operands, fp32 sums, over a subgroup. The including shader
// declares M, N and K (the shape, constants) and the extensions of the form. Strides and indices in elements;
// `by_columns` true where a column's elements are neighbours in memory.
#ifndef YOLK_LIB_COOPERATIVE_MATRIX_GLSL
#define YOLK_LIB_COOPERATIVE_MATRIX_GLSL

#ifdef COOPERATIVE_KHR
#define MatrixA coopmat<float16_t, gl_ScopeSubgroup, M, K, gl_MatrixUseA>
#define MatrixB coopmat<float16_t, gl_ScopeSubgroup, K, N, gl_MatrixUseB>
#define MatrixSum coopmat<float, gl_ScopeSubgroup, M, N, gl_MatrixUseAccumulator>
#define LAYOUT_OF(by_columns) ((by_columns) ? gl_CooperativeMatrixLayoutColumnMajor : gl_CooperativeMatrixLayoutRowMajor)
#define LOAD_A(matrix, from, index, stride, by_columns) coopMatLoad(matrix, from, index, stride, LAYOUT_OF(by_columns))
#define LOAD_B(matrix, from, index, stride, by_columns) coopMatLoad(matrix, from, index, stride, LAYOUT_OF(by_columns))
#define STORE_SUM(matrix, to, index, stride) coopMatStore(matrix, to, index, stride, gl_CooperativeMatrixLayoutRowMajor)
#define MULTIPLY_ADD(a, b, sum) coopMatMulAdd(a, b, sum)
#else
#define MatrixA fcoopmatNV<16, gl_ScopeSubgroup, M, K>
#define MatrixB fcoopmatNV<16, gl_ScopeSubgroup, K, N>
#define MatrixSum fcoopmatNV<32, gl_ScopeSubgroup, M, N>
#define LOAD_A(matrix, from, index, stride, by_columns) coopMatLoadNV(matrix, from, index, stride, by_columns)
#define LOAD_B(matrix, from, index, stride, by_columns) coopMatLoadNV(matrix, from, index, stride, by_columns)
#define STORE_SUM(matrix, to, index, stride) coopMatStoreNV(matrix, to, index, stride, false)
#define MULTIPLY_ADD(a, b, sum) coopMatMulAddNV(a, b, sum)
#endif

#endif
