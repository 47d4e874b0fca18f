// SPDX-License-Identifier: Apache-2.0
// What the files of operations share.
#pragma once

#include <span>
#include <utility>
#include <vector>

#include "yolk/hyper/operations.hpp"

namespace yolk::hyper {

using Types = std::vector<ValueType>;
using Values = std::vector<Value>;

[[nodiscard]] std::span<const Operation> tensor_operations() noexcept;
[[nodiscard]] std::span<const Operation> structure_operations() noexcept;
[[nodiscard]] std::span<const Operation> data_operations() noexcept;
[[nodiscard]] std::span<const Operation> passing_operations() noexcept;
[[nodiscard]] std::span<const Operation> control_operations() noexcept;

/// Errors: another number of operands.
[[nodiscard]] Result<void> expect_operands(const Equation& equation, std::span<const ValueType> operands,
                                           std::size_t count);
[[nodiscard]] Error operand_error(const Equation& equation, std::span<const ValueType> operands,
                                  std::string_view allowed);

/// The shape with another extent along one of its dimensions.
[[nodiscard]] inline Shape with_extent(const Shape& shape, std::size_t dimension, std::uint64_t extent) {
    std::vector<std::uint64_t> extents(shape.extents().begin(), shape.extents().end());
    extents[dimension] = extent;
    return Shape(std::move(extents));
}

/// [rows, columns] of a tensor seen along its last dimension; [1] has one row. Errors: 2^31 elements or more.
struct RowShape {
    std::uint32_t rows = 1;
    std::uint32_t columns = 1;
};
[[nodiscard]] Result<RowShape> rows_of(const Equation& equation, const Shape& shape);

}  // namespace yolk::hyper
