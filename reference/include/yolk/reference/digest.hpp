// SPDX-License-Identifier: Apache-2.0
// The exact twin of the kernel digest (docs/kernels/digest.md).
#pragma once

#include <array>
#include <cstdint>
#include <span>

#include "yolk/primitives/digest.hpp"

namespace yolk::reference {

using DigestSums = std::array<std::uint32_t, abi::digest::kSumWords>;

/// `sums` after `array` was added.
[[nodiscard]] DigestSums digest_twin(std::span<const std::uint32_t> in, std::uint32_t array, DigestSums sums);

}  // namespace yolk::reference
