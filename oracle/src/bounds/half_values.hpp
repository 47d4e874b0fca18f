// SPDX-License-Identifier: Apache-2.0
// Numbers of 16 bits by a table: value_of_half takes tens of nanoseconds, too long for 2^26 of them.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "yolk/internal/oracle/element_oracle.hpp"
#include "yolk/internal/primitives/float_format.hpp"

namespace yolk::oracle {

using HalfValues = std::array<float, std::size_t{1} << 16U>;
/// value_of_half of every pattern; of F16 or BF16.
[[nodiscard]] const HalfValues& half_values(FloatFormat format);

/// The number that an element's bits are; of 16 bits the low ones count.
[[nodiscard]] double value_of(ElementBits type, std::uint32_t bits);

}  // namespace yolk::oracle
