// SPDX-License-Identifier: Apache-2.0
// Oracle of conversions between fp32 and 16-bit floats (docs/kernels/convert.md).
#pragma once

#include <cstdint>

#include "yolk/convert.hpp"
#include "yolk/internal/primitives/float_format.hpp"

namespace yolk::oracle {

/// The value of a 16-bit pattern from the format's definition, in double; infinities and NaN as such.
[[nodiscard]] double value_of_half(FloatFormat format, std::uint16_t bits);
/// The pattern whose value is nearest to `value`, of two equally near the even one: by search over all patterns of its
/// sign. Beyond half a step above the largest: infinity. No NaN.
[[nodiscard]] std::uint16_t nearest_half(FloatFormat format, double value);

}  // namespace yolk::oracle
