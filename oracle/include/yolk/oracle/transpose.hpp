// SPDX-License-Identifier: Apache-2.0
// Host results for the transpose kernels (docs/kernels/transpose.md), of elements as words.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "yolk/oracle/family.hpp"
#include "yolk/primitives/transpose.hpp"

namespace yolk::oracle {

/// Element by element of the result.
[[nodiscard]] std::vector<std::uint32_t> transpose_twin(const TransposeDesc& desc,
                                                        std::span<const std::uint32_t> source);
/// The same permutation by its cycles, in place.
[[nodiscard]] std::vector<std::uint32_t> transpose_oracle(const TransposeDesc& desc,
                                                          std::span<const std::uint32_t> source);

/// A problem of this description, for tuning and timing.
[[nodiscard]] std::unique_ptr<Problem> make_transpose_problem(const TransposeDesc& desc);

}  // namespace yolk::oracle
