// SPDX-License-Identifier: Apache-2.0
// Exact twin of the concat kernels (docs/kernels/concat.md), of elements as words.
#pragma once

#include <cstdint>
#include <vector>

#include "yolk/primitives/concat.hpp"

namespace yolk::reference {

using Words = std::vector<std::uint32_t>;

/// The whole, run by run.
[[nodiscard]] Words concat_twin(const ConcatDesc& desc, const std::vector<Words>& parts);
/// The parts, run by run.
[[nodiscard]] std::vector<Words> split_twin(const ConcatDesc& desc, const Words& whole);

}  // namespace yolk::reference
