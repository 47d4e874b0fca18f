// SPDX-License-Identifier: Apache-2.0
// Exact twin of conversions between fp32 and 16-bit floats (docs/kernels/convert.md).
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "yolk/convert.hpp"
#include "yolk/internal/primitives/float_format.hpp"

namespace yolk::reference {

/// Exact twins: the shared source, element by element. 16-bit elements are packed two to a word, with a zero behind an
/// odd count.
[[nodiscard]] std::vector<std::uint32_t> narrow_twin(FloatFormat to, std::span<const float> values);
[[nodiscard]] std::vector<float> widen_twin(FloatFormat from, std::span<const std::uint32_t> words, std::size_t count);

}  // namespace yolk::reference
