// SPDX-License-Identifier: Apache-2.0
// Where matrix `batch` of matmul begins in each view, in elements: inner_batch matrices lie an inner stride apart, and
// the next ones a batch stride behind them. The including shader has named `params`.
#ifndef YOLK_MATMUL_BATCH_GLSL
#define YOLK_MATMUL_BATCH_GLSL

uint matrix_base(uint offset, uint batch, uint batch_stride, uint inner_stride) {
    uint outer = batch / params.inner_batch;
    return offset + outer * batch_stride + (batch - outer * params.inner_batch) * inner_stride;
}
uint a_base_of(uint batch) {
    return matrix_base(params.a_offset, batch, params.a_batch_stride, params.a_inner_stride);
}
uint b_base_of(uint batch) {
    return matrix_base(params.b_offset, batch, params.b_batch_stride, params.b_inner_stride);
}
uint out_base_of(uint batch) {
    return matrix_base(params.out_offset, batch, params.out_batch_stride, params.out_inner_stride);
}
uint residual_base_of(uint batch) {
    return matrix_base(params.residual_offset, batch, params.residual_batch_stride, params.residual_inner_stride);
}

#endif
