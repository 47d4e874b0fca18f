// SPDX-License-Identifier: Apache-2.0
// The operations by what kind they are, a file for each.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "equations.hpp"
#include "yolk/internal/hyper/operations.hpp"

namespace yolk::hyper {

[[nodiscard]] std::span<const Operation> elementwise_operations() noexcept;
[[nodiscard]] std::span<const Operation> tensor_operations() noexcept;
[[nodiscard]] std::span<const Operation> row_operations() noexcept;
[[nodiscard]] std::span<const Operation> move_operations() noexcept;
[[nodiscard]] std::span<const Operation> structure_operations() noexcept;
[[nodiscard]] std::span<const Operation> data_operations() noexcept;
[[nodiscard]] std::span<const Operation> list_operations() noexcept;
[[nodiscard]] std::span<const Operation> passing_operations() noexcept;
[[nodiscard]] std::span<const Operation> control_operations() noexcept;

/// Errors: an id that is no whole number below the table's extent along the dimension.
[[nodiscard]] Result<std::vector<std::uint32_t>> ids_of(const Equation& equation, const Tensor& ids, const Shape& table,
                                                        std::size_t dimension);

}  // namespace yolk::hyper
