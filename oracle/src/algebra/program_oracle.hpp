// SPDX-License-Identifier: Apache-2.0
// Programs with numbers in double and bounds of their errors: each step by the standard library, at the operands and at
// the ends of what their errors allow.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <vector>

#include "yolk/elementwise.hpp"
#include "yolk/internal/oracle/family.hpp"

namespace yolk::oracle {

/// An input repeated along the dimensions that it lacks, one after the other.
[[nodiscard]] std::vector<OracleValue> repeated_along(std::span<const std::uint32_t> extents, std::uint32_t dimensions,
                                                      std::span<const float> input);

/// `values`: of one element.
[[nodiscard]] OracleValue bounded_step(ElementwiseOperation operation, std::span<const std::uint32_t> operands,
                                       std::span<const OracleValue> values);

/// What an operand may be, at both ends and in the middle its value in fp32.
[[nodiscard]] std::array<float, 3> possible(const OracleValue& operand);

}  // namespace yolk::oracle
