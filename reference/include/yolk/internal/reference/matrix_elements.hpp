// SPDX-License-Identifier: Apache-2.0
// Where the elements of matrices lie in their views. Descriptions are those that their plans accept.
#pragma once

#include <cstddef>
#include <cstdint>

namespace yolk {
struct MatmulDesc;
struct MatmulI8Desc;
struct MatrixLayout;
struct RowsLayout;
}  // namespace yolk

namespace yolk::reference {

/// `desc` with every kDense replaced.
[[nodiscard]] MatmulDesc without_dense(const MatmulDesc& desc);
[[nodiscard]] MatmulI8Desc without_dense(const MatmulI8Desc& desc);

/// The index of op(x)[row, column] of matrix `z` in its view. No layout has a kDense left.
[[nodiscard]] std::size_t element_of(const MatmulDesc& desc, const MatrixLayout& layout, std::uint32_t z,
                                     std::uint32_t row, std::uint32_t column);
[[nodiscard]] std::size_t element_of(const RowsLayout& layout, std::uint32_t z, std::uint32_t row,
                                     std::uint32_t column);
/// The same of out.
[[nodiscard]] std::size_t out_element(const MatmulDesc& desc, std::uint32_t z, std::uint32_t row, std::uint32_t column);
[[nodiscard]] std::size_t out_element(const MatmulI8Desc& desc, std::uint32_t z, std::uint32_t row,
                                      std::uint32_t column);

}  // namespace yolk::reference
