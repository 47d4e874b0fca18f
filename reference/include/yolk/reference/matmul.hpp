// SPDX-License-Identifier: Apache-2.0
// Exact twin of the matmul kernels (docs/kernels/matmul.md).
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "yolk/primitives/matmul.hpp"

namespace yolk::reference {

struct MatmulInputs {
    std::span<const float> a;
    std::span<const float> b;
    std::span<const float> bias;
    std::span<const float> residual;
};

/// The index of op(x)[row, column] of matrix `z` in its view. `desc` has no kDense left.
[[nodiscard]] std::size_t element_of(const MatrixLayout& layout, std::uint32_t z, std::uint32_t row,
                                     std::uint32_t column);
/// `desc` with every kDense replaced. `desc` is one that plan_matmul accepts.
[[nodiscard]] MatmulDesc without_dense(const MatmulDesc& desc);

/// Exact twin of Determinism::Exact: fp32, one ascending chain over k, then the epilogue; [batch, m, n], dense.
[[nodiscard]] std::vector<float> matmul_twin(const MatmulDesc& desc, const MatmulInputs& inputs);

}  // namespace yolk::reference
