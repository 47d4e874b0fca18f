// SPDX-License-Identifier: Apache-2.0
// Scratch that plans share which run one after the other.
#pragma once

#include <cstdint>

#include "yolk/device.hpp"
#include "yolk/internal/runtime/buffer.hpp"
#include "yolk/result.hpp"

namespace yolk::evolve {

/// `wanted` bytes, or what there is memory for, down to `least`; no buffer where nothing is wanted.
[[nodiscard]] Result<Buffer> create_scratch(const Device& device, std::uint64_t wanted, std::uint64_t least);

}  // namespace yolk::evolve
