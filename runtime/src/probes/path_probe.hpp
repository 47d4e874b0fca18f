// SPDX-License-Identifier: Apache-2.0
// The self-checks of low precision without a device: what is asked, and what wrong answers mean. Judges are pure
// functions, so that a test can play a failing device.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "yolk/internal/runtime/device_info.hpp"

namespace yolk {

using ProbeWords = std::array<std::uint32_t, 4>;

/// {a, b, c, 0}: extreme bytes, one byte at a time, then drawn ones.
[[nodiscard]] std::vector<ProbeWords> integer_dot_cases();
/// The first wrong answer as a sentence; empty where all are right.
[[nodiscard]] std::string judge_integer_dot(std::span<const ProbeWords> cases, std::span<const std::uint32_t> results);

/// Eight 16-bit words each: every one of the eight alone, then drawn ones.
[[nodiscard]] std::vector<ProbeWords> storage16_cases();
[[nodiscard]] std::string judge_storage16(std::span<const ProbeWords> cases, std::span<const std::uint32_t> results);

/// Integers, a [m, k] and b [k, n], as the shape's operands: of int8 in [-128, 127], of fp16 and bf16 in [-31, 31],
/// whose sums are integers that fp32 holds, while most of them are too large for 16 bits.
[[nodiscard]] std::vector<std::byte> cooperative_operands(const CooperativeShape& shape);
/// `results`: bits of the sums [2, m, n], of operands from the buffer and of staged ones.
[[nodiscard]] std::string judge_cooperative(const CooperativeShape& shape, std::span<const std::uint32_t> results);

}  // namespace yolk
