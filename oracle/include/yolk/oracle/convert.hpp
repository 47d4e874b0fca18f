// SPDX-License-Identifier: Apache-2.0
// Host results for conversions between fp32 and 16-bit floats (docs/kernels/convert.md).
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "yolk/oracle/family.hpp"
#include "yolk/primitives/convert.hpp"
#include "yolk/primitives/float_format.hpp"

namespace yolk::oracle {

/// Exact twins: the shared source, element by element. 16-bit elements are packed two to a word, with a zero behind an
/// odd count.
[[nodiscard]] std::vector<std::uint32_t> narrow_twin(FloatFormat to, std::span<const float> values);
[[nodiscard]] std::vector<float> widen_twin(FloatFormat from, std::span<const std::uint32_t> words, std::size_t count);

/// The value of a 16-bit pattern from the format's definition, in double; infinities and NaN as such.
[[nodiscard]] double value_of_half(FloatFormat format, std::uint16_t bits);
/// The pattern whose value is nearest to `value`, of two equally near the even one: by search over all patterns of its
/// sign. Beyond half a step above the largest: infinity. No NaN.
[[nodiscard]] std::uint16_t nearest_half(FloatFormat format, double value);

/// A problem of this description, for tuning and timing.
[[nodiscard]] std::unique_ptr<Problem> make_convert_problem(const ConvertDesc& desc);

}  // namespace yolk::oracle
