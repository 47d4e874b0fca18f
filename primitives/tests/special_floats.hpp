// SPDX-License-Identifier: Apache-2.0
// Numbers that are not finite, as the tests give them to kernels and expect them back.
#pragma once

#include <cstdint>
#include <limits>

namespace yolk {

inline constexpr float kInfinity = std::numeric_limits<float>::infinity();
inline constexpr float kNan = std::numeric_limits<float>::quiet_NaN();
/// The bits of every NaN that a kernel gives on purpose.
inline constexpr std::uint32_t kNanBits = 0x7FC00000U;

}  // namespace yolk
