// SPDX-License-Identifier: Apache-2.0
// Exact twin of the int8 product (docs/kernels/matmul_i8.md).
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "yolk/primitives/matmul_i8.hpp"

namespace yolk::reference {

/// The index of element [row, column] of matrix `z` in its view. `layout` has no kDense left.
[[nodiscard]] std::size_t element_of(const RowsLayout& layout, std::uint32_t z, std::uint32_t row,
                                     std::uint32_t column);
/// `desc` with every kDense replaced. `desc` is one that plan_matmul_i8 accepts.
[[nodiscard]] MatmulI8Desc without_dense(const MatmulI8Desc& desc);

/// Exact twin: word by word, products in int32; [batch, m, n], dense. `a` and `b` are the views' bytes.
[[nodiscard]] std::vector<std::int32_t> matmul_i8_twin(const MatmulI8Desc& desc, std::span<const std::int8_t> a,
                                                       std::span<const std::int8_t> b);

}  // namespace yolk::reference
