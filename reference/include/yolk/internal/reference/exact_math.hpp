// SPDX-License-Identifier: Apache-2.0
// Exact twin of exact_math (docs/kernels/exact_math.md).
#pragma once

#include <cstdint>

namespace yolk::reference {

/// A function of abi::exact_math: the shared source, compiled for the host. Zero for numbers that name none.
[[nodiscard]] float exact_math_twin(std::uint32_t function, float x);

}  // namespace yolk::reference
