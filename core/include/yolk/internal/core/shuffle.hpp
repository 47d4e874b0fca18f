// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <vector>

#include "yolk/internal/core/noise.hpp"

namespace yolk {

/// The numbers below `count` in an order that the stream's first `count` blocks give (Fisher and Yates).
[[nodiscard]] std::vector<std::uint32_t> shuffled(const NoiseStream& stream, std::uint32_t count);

}  // namespace yolk
