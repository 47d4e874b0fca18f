// SPDX-License-Identifier: Apache-2.0
// Host results for the int8 product (docs/kernels/matmul_i8.md).
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "yolk/oracle/family.hpp"
#include "yolk/primitives/matmul_i8.hpp"

namespace yolk::oracle {

/// The index of element [row, column] of matrix `z` in its view. `layout` has no kDense left.
[[nodiscard]] std::size_t element_of(const RowsLayout& layout, std::uint32_t z, std::uint32_t row,
                                     std::uint32_t column);
/// `desc` with every kDense replaced. `desc` is one that plan_matmul_i8 accepts.
[[nodiscard]] MatmulI8Desc without_dense(const MatmulI8Desc& desc);

/// Exact twin: word by word, products in int32; [batch, m, n], dense. `a` and `b` are the views' bytes.
[[nodiscard]] std::vector<std::int32_t> matmul_i8_twin(const MatmulI8Desc& desc, std::span<const std::int8_t> a,
                                                       std::span<const std::int8_t> b);
/// In double by outer products, k outermost and descending; exact as long as sums stay below 2^53.
[[nodiscard]] std::vector<double> matmul_i8_oracle(const MatmulI8Desc& desc, std::span<const std::int8_t> a,
                                                   std::span<const std::int8_t> b);

/// A problem of this description, for tuning and timing.
[[nodiscard]] std::unique_ptr<Problem> make_matmul_i8_problem(const MatmulI8Desc& desc);

}  // namespace yolk::oracle
